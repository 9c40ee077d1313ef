/* copy: from the paths that the caller gave to the first entries. These paths are followed as the
 * shell's user meant them; from there on nothing is. */
#include "copy/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directory that has the path's last name, opened to look; and that name. */
static int open_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char *parent;
	int fd;

	if (!slash) {
		*ret_name = path;
		return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	parent = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!parent) {
		errno = ENOMEM;
		return -1;
	}
	fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*ret_name = slash + 1;
	free(parent);
	return fd;
}

/* The destination without slashes at its end: to be freed. */
static char *trimmed(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return strndup(path, n);
}

struct place {
	char *path; /* of the destination */
	bool is_dir;
	bool into;            /* sources keep their names */
	const char *dst_name; /* else this is the only one's */
	struct dir *root;     /* of the named source before this one */
	uint32_t phase;       /* of this one: see sources.c */
};

/* A slash at its end says that the destination is a directory. A file of that name is not replaced,
 * and one is not made. */
static bool is_no_directory(const struct weir_copy_config *config, const struct place *place)
{
	const char *source = config->sources[0];
	size_t n = strlen(config->destination);
	struct stat st;

	if (place->is_dir || n < 2 || config->destination[n - 1] != '/')
		return false;
	return stat(place->path, &st) == 0 ||
	       (!weir__is_contents(source) && lstat(source, &st) == 0 && !S_ISDIR(st.st_mode));
}

/* That the copy has nowhere to go is not the source's fault. */
static int look_for_parent(const char *path)
{
	const char *name;
	int fd = open_parent(path, &name);

	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

static int find_place(struct engine *engine, struct place *place)
{
	const struct weir_copy_config *config = engine->config;
	struct stat st;

	place->path = trimmed(config->destination);
	if (!place->path)
		return -ENOMEM;
	if (stat(place->path, &st) == 0) {
		place->is_dir = S_ISDIR(st.st_mode);
		if (place->is_dir) {
			engine->dst_dev = st.st_dev;
			engine->dst_ino = st.st_ino;
		}
	} else if (errno != ENOENT) {
		return -errno;
	}
	place->into = place->is_dir && !engine_has(engine, WEIR_COPY_NO_INTO);
	if ((config->source_count > 1 && !place->into) || is_no_directory(config, place))
		return -ENOTDIR;
	return place->is_dir ? 0 : look_for_parent(place->path);
}

static struct dir *new_root(const char *label, int src, int dst)
{
	struct dir *root = weir__dir_new(NULL, label, label);

	if (!root)
		return NULL;
	root->src = src;
	root->dst = dst;
	root->pins = 1;
	root->existed = true;
	return root;
}

/* The root of named sources: the directory of the source on one side, that of the copy on the
 * other. */
static int open_bare(const char *path, struct place *place, const char **ret_name)
{
	int src = open_parent(path, ret_name);
	int result = src < 0 ? -errno : 0;
	struct dir *root = NULL;
	char *label;
	int dst = -1;

	place->dst_name = NULL;
	if (src >= 0) {
		dst = place->into ? open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC) :
				    open_parent(place->path, &place->dst_name);
		if (dst < 0)
			result = -errno;
	}
	label = result == 0 ? strndup(path, (size_t)(*ret_name - path)) : NULL;
	if (label)
		root = new_root(label, src, dst);
	free(label);
	if (!root) {
		(void)(src >= 0 && close(src));
		(void)(dst >= 0 && close(dst));
		return result < 0 ? result : -ENOMEM;
	}
	root->bare = true;
	root->pending = 0;
	place->root = root;
	return 0;
}

/* Now, or when those of the phases before have been copied. */
static void put_source(struct engine *engine, struct batch *batch, const struct place *place,
		       bool new_root)
{
	COUNT(engine, found, 1);
	batch->phase = place->phase;
	batch->roots = new_root;
	if (place->phase > 0) {
		weir__queue_put_later(engine, batch);
		return;
	}
	engine->sources_left += new_root;
	weir__queue_put(engine, batch, false);
}

/* A source by its name. Those of one directory, as a shell makes them of a pattern, share a root
 * and so its descriptors. */
static int put_named(struct engine *engine, const char *path, struct place *place)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = (size_t)(name - path);
	struct batch *batch = weir__batch_new(1, 0);
	int result = batch ? 0 : -ENOMEM;
	bool new_root = !place->root || strlen(place->root->name) != length ||
			strncmp(place->root->name, path, length) != 0;

	if (batch && new_root)
		result = open_bare(path, place, &name);
	if (result < 0) {
		free(batch);
		return result;
	}
	place->root->pending++;
	batch->entries[0].dir = place->root;
	batch->entries[0].name = name;
	batch->entries[0].dst_name = place->dst_name ? place->dst_name : name;
	batch->entries[0].type = DT_UNKNOWN;
	put_source(engine, batch, place, new_root);
	return 0;
}

/* Opens the destination for what is in a source, made if it is not there. */
static int open_contents(struct engine *engine, const struct place *place, bool *ret_existed)
{
	bool dry = engine_has(engine, WEIR_COPY_DRY_RUN);
	int fd;

	*ret_existed = place->is_dir || dry || mkdir(place->path, 0700) < 0;
	fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 && dry && errno == ENOENT ? -1 : fd < 0 ? -errno - 1 : fd;
}

/* What is in a source: its directory is a root itself. */
static int put_contents(struct engine *engine, const char *path, struct place *place)
{
	struct batch *batch = weir__batch_new(1, 0);
	struct dir *root = NULL;
	struct stat st = { 0 };
	bool existed = true;
	int src = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = src < 0 ? -errno : 0;
	int dst = -1;

	if (result == 0 && !engine_has(engine, WEIR_COPY_RECURSIVE))
		result = -EISDIR;
	if (result == 0) {
		dst = open_contents(engine, place, &existed);
		if (dst < -1)
			result = dst + 1;
	}
	if (result == 0)
		root = new_root(path, src, dst);
	if (!root || !batch || fstat(src, &root->st) < 0) {
		free(batch);
		free(root);
		(void)(src >= 0 && close(src));
		(void)(dst >= 0 && close(dst));
		return result < 0 ? result : -ENOMEM;
	}
	root->existed = existed;
	if (dst >= 0 && fstat(dst, &st) == 0) {
		root->dst_dev = engine->dst_dev = st.st_dev;
		root->dst_ino = engine->dst_ino = st.st_ino;
	}
	if (dst >= 0 && st.st_dev == root->st.st_dev && st.st_ino == root->st.st_ino) {
		weir__dir_unref(engine, root);
		free(batch);
		return -ENOTUNIQ;
	}
	batch->entries[0].kind = KIND_WALK;
	batch->entries[0].arg = root;
	engine->walkers++;
	put_source(engine, batch, place, true);
	return 0;
}

/* Whether a source by its name is one that a pattern leaves out, as any entry. */
static bool is_filtered(const struct weir_copy_config *config, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st;

	return config->rule_count > 0 && !weir__is_contents(path) && lstat(path, &st) == 0 &&
	       weir__filtered(config, NULL, slash ? slash + 1 : path, S_ISDIR(st.st_mode));
}

static int put(struct engine *engine, const char *path, struct place *place, enum weir__turn turn)
{
	if (turn == TURN_NEVER)
		return 0;
	/* Those after one that is refused have to wait for the same as it had. */
	if (turn == TURN_AFTER || turn == TURN_REFUSED) {
		place->phase++;
		place->root = NULL;
	}
	if (is_filtered(engine->config, path))
		return 0;
	if (turn == TURN_REFUSED)
		return -EEXIST;
	return weir__is_contents(path) ? put_contents(engine, path, place) :
					 put_named(engine, path, place);
}

int weir__roots_open(struct engine *engine)
{
	struct place place = { 0 };
	enum weir__turn *turns = NULL;
	int result = find_place(engine, &place);

	if (result == 0)
		result = weir__sources_turns(engine->config, &turns);
	for (size_t i = 0; result == 0 && i < engine->config->source_count; i++) {
		const char *path = engine->config->sources[i];
		int error = put(engine, path, &place, turns[i]);

		if (error < 0) {
			COUNT(engine, failed, 1);
			if (engine->config->failed)
				engine->config->failed(path, error, engine->config->arg);
		}
	}
	free(turns);
	if (engine->sources_left == 0)
		(void)weir__queue_next(engine);
	/* Its last name is still in use. */
	engine->destination = place.path;
	return result;
}
