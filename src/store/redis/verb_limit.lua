
-- limit
if not stored then
	return { ENOENT }
end
refresh(ALL)
limit = tonumber(ARGV[4])
if limit ~= 0 then
	for _, token in ipairs(call('ZRANGE', QUEUE, 0, -1)) do
		local c = get(token)
		if c.weight > limit then
			drop(token, c)
			tell(c.channel, 'h', token)
		end
	end
end
settle()
save()
return { 0 }
