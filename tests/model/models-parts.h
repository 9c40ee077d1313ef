/* model: what threads and tasks do in more than one file of models. */
#ifndef MODEL_MODELS_PARTS_H
#define MODEL_MODELS_PARTS_H

#include "model/models.h"

static inline void release(void)
{
	m_check(m_release(1) == 0, "a release failed");
}

static inline void pass(void)
{
	m_pass(1);
}

static inline void pass_if_granted(int result, uint32_t n)
{
	if (result == 0)
		m_check(m_release(n) == 0, "a release failed");
	else
		m_check(result == -ECANCELED || result == -ETIMEDOUT, "an acquire failed");
}

static inline void end_child(int i)
{
	m_check(m_wait(i, WEIR_NEVER, NULL) == 0, "a task failed");
	m_drop(i);
}

static inline void cancel_it(void)
{
	if (m_take_over(0)) {
		m_cancel_task(0);
		m_drop(0);
	}
}

TASK(task_pass)
{
	m_pass(1);
	return 0;
}

TASK(task_pass_unless_cancelled)
{
	pass_if_granted(m_acquire(1), 1);
	return 0;
}

RUN(run_one, task_pass)

TASK(root_of_two)
{
	m_spawn(0, task_pass);
	(void)task_pass(arg, value);
	end_child(0);
	return 0;
}

RUN(run_two, root_of_two)

#endif
