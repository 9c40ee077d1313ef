/* store: remarks that any server may deserve. See remark.h. */
#include "store/remark.h"

#include "store/here.h"

static int on_network(struct weir__picture *picture, const struct weir__reach *reach)
{
	if (reach->encrypted || weir__hosts_are_here(reach->hosts))
		return 0;
	return weir__picture_remark(picture, true, "network",
				    "what is said to %s can be read and changed on its way%s: say "
				    "%s in the store's URL",
				    reach->where, reach->has_password ? ", the password too" : "",
				    reach->tls);
}

static int on_password(struct weir__picture *picture, const struct weir__reach *reach)
{
	if (!reach->is_open || weir__hosts_are_here(reach->hosts))
		return 0;
	return weir__picture_remark(picture, true, "password",
				    "%s lets anybody in without one, who may then end any lease: "
				    "set one there, and in the store's URL",
				    reach->where);
}

static int on_failover(struct weir__picture *picture, const struct weir__reach *reach)
{
	if (!reach->goes_on)
		return 0;
	return weir__picture_remark(picture, true, "failover",
				    "failover=continue: when %s is started again or another one "
				    "takes over, there may be more holders than permits for up to "
				    "a TTL; leave it out unless fences are checked",
				    reach->where);
}

int weir__remark_reach(struct weir__picture *picture, const struct weir__reach *reach)
{
	int error = on_network(picture, reach);

	if (error == 0)
		error = on_password(picture, reach);
	return error == 0 ? on_failover(picture, reach) : error;
}
