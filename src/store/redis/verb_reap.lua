-- how many
if not stored then
	return { 0 }
end
local leases = refresh(tonumber(ARGV[2]))
save()
return { leases }
