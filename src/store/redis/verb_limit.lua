-- limit
if not stored then
	return ENOENT
end
refresh(ALL)
limit = tonumber(ARGV[2])
if limit ~= 0 and waiting > 0 then
	for _, queued in ipairs(call('ZRANGE', TIMES, 0, waiting - 1)) do
		local token = string.sub(queued, 2)
		local c = get(token)
		if c.weight > limit then
			drop(token, c)
			tell(c.channel, 'h' .. token)
		end
	end
end
settle()
save()
return 0
