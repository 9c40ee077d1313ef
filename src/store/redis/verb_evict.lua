-- token
return end_lease(ARGV[2], 'l')
