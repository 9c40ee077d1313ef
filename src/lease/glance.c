/* lease: looking or sleeping. See glance.h. */
#include "lease/glance.h"

enum { TRIES = WEIR__GLANCE_TRIES };

static void sort(weir_time *times)
{
	for (int i = 1; i < TRIES; i++) {
		weir_time time = times[i];
		int at = i;

		for (; at > 0 && times[at - 1] > time; at--)
			times[at] = times[at - 1];
		times[at] = time;
	}
}

static weir_time sum(const weir_time *times)
{
	weir_time all = 0;

	for (int i = 0; i < TRIES; i++)
		all += times[i];
	return all;
}

static bool is_clearly_less(weir_time time, weir_time other)
{
	return time < other - other / 8;
}

static void judge(struct weir__glance *glance)
{
	weir_time *slept = glance->took[false], *looked = glance->took[true];
	bool looks;

	sort(slept);
	sort(looked);
	looks = is_clearly_less(looked[TRIES / 2], slept[TRIES / 2]) &&
		is_clearly_less(sum(looked), sum(slept));
	if (looks != glance->looks)
		glance->round = WEIR__GLANCE_SHORTEST;
	else if (glance->round < WEIR__GLANCE_LONGEST)
		glance->round *= 2;
	glance->looks = looks;
}

bool weir__glance_begin(struct weir__glance *glance)
{
	uint32_t use = glance->uses;

	if (glance->round == 0)
		glance->round = WEIR__GLANCE_SHORTEST;
	if (use >= glance->round)
		use = 0;
	glance->uses = use + 1;
	return use < 2 * TRIES ? use < TRIES : glance->looks;
}

void weir__glance_end(struct weir__glance *glance, weir_time took)
{
	uint32_t use = glance->uses - 1;

	if (use >= 2 * TRIES)
		return;
	/* One that took very long was held up: that it took still longer says nothing. */
	glance->took[use < TRIES][use % TRIES] = took < WEIR_MS ? took : WEIR_MS;
	if (use == 2 * TRIES - 1)
		judge(glance);
}
