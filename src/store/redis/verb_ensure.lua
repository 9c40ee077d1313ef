
-- limit
if stored then
	return { 0 }
end
create(tonumber(ARGV[4]))
save()
return { 1 }
