-- limit
if stored then
	return 0
end
create(tonumber(ARGV[2]))
save()
return 1
