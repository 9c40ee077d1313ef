
-- token
return end_lease(ARGV[4], 'l')
