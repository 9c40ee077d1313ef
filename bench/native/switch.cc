/* bench: what does it cost to go on with another stack?
 *
 *     switch minimal|weir|yield|ucontext seconds=0.2
 *
 * Two contexts switch to and fro. `minimal` is the floor: the least that the calling convention
 * allows, written by hand. `weir` is the library's own switch, which only its scheduler calls, so
 * this program is linked with the static library. `yield` is what a task pays for it all.
 */
#include "bench.hpp"

#include <ucontext.h>
#include <weir/weir.h>

extern "C" {
#include "task/switch.h"
}

static constexpr uint32_t CHUNK = 10000;
static constexpr size_t STACK = 64 * 1024;

alignas(64) static char stack[STACK];

#if defined(__x86_64__)
/* Six registers and the stack pointer; the address to go on at is what a call leaves. */
extern "C" void minimal_switch(void **from, void *to);
__asm__(".text\n"
	".type minimal_switch, @function\n"
	".p2align 4\n"
	"minimal_switch:\n"
	"pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
	"movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
	"popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"
	"popq %rcx\n jmpq *%rcx\n"
	".size minimal_switch, . - minimal_switch\n");

struct minimal {
	static inline void *here, *there;

	static void to_and_fro(void *)
	{
		for (;;)
			minimal_switch(&there, here);
	}

	static void begin()
	{
		to_and_fro(nullptr);
	}

	static void prepare()
	{
		void **frame = reinterpret_cast<void **>(stack + STACK) - 9;

		std::fill(frame, frame + 9, nullptr);
		frame[6] = reinterpret_cast<void *>(begin);
		there = frame;
	}

	static void round_trip()
	{
		minimal_switch(&here, there);
	}
};
#endif

struct weir_switch {
	static inline weir__context here, there;

	static void to_and_fro(void *)
	{
		for (;;)
			weir__context_switch(&there, here, 0);
	}

	static void prepare()
	{
		there = weir__context_new(stack, STACK, to_and_fro, nullptr);
	}

	static void round_trip()
	{
		weir__context_switch(&here, there, 0);
	}
};

struct posix_context {
	static inline ucontext_t here, there;

	static void to_and_fro()
	{
		for (;;)
			swapcontext(&there, &here);
	}

	static void prepare()
	{
		getcontext(&there);
		there.uc_stack.ss_sp = stack;
		there.uc_stack.ss_size = STACK;
		makecontext(&there, to_and_fro, 0);
	}

	static void round_trip()
	{
		swapcontext(&here, &there);
	}
};

template <class Round> static void show(double seconds, Round round_trip)
{
	auto chunk = [&] {
		for (uint32_t i = 0; i < CHUNK; i++)
			round_trip();
	};

	bench::per_operation(seconds / 4, CHUNK, chunk);
	bench::print("ns", bench::per_operation(seconds, CHUNK, chunk) / 2);
}

template <class Switch> static void measure(double seconds)
{
	Switch::prepare();
	show(seconds, Switch::round_trip);
}

static bool over;

static int other(void *, intptr_t *)
{
	while (!over)
		weir_yield();
	return 0;
}

static int yields(void *arg, intptr_t *)
{
	struct weir_future *task = weir_spawn(other, nullptr);

	show(*static_cast<double *>(arg), weir_yield);
	over = true;
	weir_future_unref(task);
	return 0;
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	double seconds = arguments.number("seconds", 0.2);

	if (arguments.peer() == "weir")
		measure<weir_switch>(seconds);
#if defined(__x86_64__)
	else if (arguments.peer() == "minimal")
		measure<minimal>(seconds);
#endif
	else if (arguments.peer() == "ucontext")
		measure<posix_context>(seconds);
	else if (arguments.peer() != "yield" || weir_run(yields, &seconds, nullptr) < 0)
		bench::fail("no such peer");
	return 0;
}
