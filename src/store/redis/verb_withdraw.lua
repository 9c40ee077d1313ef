-- whether it ran out of time, channel of the agent that withdraws, token
if not stored then
	return 1
end
refresh(ALL)
local agent, token = ARGV[3], ARGV[4]
local c = get(token)
if c and c.state == HOLDING then
	save()
	return lease_of(token, c)
end
if c then
	local others = {}
	for channel in string.gmatch(c.channel, '%S+') do
		if channel ~= agent then
			others[#others + 1] = channel
		end
	end
	if #others > 0 then
		c.channel = table.concat(others, ' ')
		write(token, c)
	else
		drop(token, c)
		refused = refused + tonumber(ARGV[2])
		settle()
	end
end
save()
return 1
