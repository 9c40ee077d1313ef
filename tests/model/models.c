/* model: the list of all models. Not among them, for they need parts that do not exist yet: expiry
 * against release and renew, and the registry. */
#include "model/models.h"

const struct model_list *const model_lists[] = {
	&basic_models, &weight_models, &giving_up_models, &async_models, &life_models,
	&task_models,  &future_models, &sched_models,     NULL,
};
