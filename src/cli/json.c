/* cli: JSON, as much of it as we print. */
#include <string.h>

#include "cli/cli.h"

/* The length of the UTF-8 sequence at text, or 0 when there is none: not overlong, not a surrogate,
 * not beyond the last code point. */
static size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
		size_t length;
	} kinds[] = {
		{ 0xe0, 0xc0, 0x80, 2 },
		{ 0xf0, 0xe0, 0x800, 3 },
		{ 0xf8, 0xf0, 0x10000, 4 },
	};

	for (size_t kind = 0; kind < 3; kind++) {
		uint32_t point = text[0] & (unsigned char)~kinds[kind].mask;

		if ((text[0] & kinds[kind].mask) != kinds[kind].lead)
			continue;
		for (size_t i = 1; i < kinds[kind].length; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (text[i] & 0x3f);
		}
		if (point < kinds[kind].least || point > 0x10ffff ||
		    (point >= 0xd800 && point <= 0xdfff))
			return 0;
		return kinds[kind].length;
	}
	return 0;
}

void json_string(FILE *stream, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putc('"', stream);
	while (*at) {
		size_t length = *at < 0x80 ? 1 : utf8_length(at);

		if (*at == '"' || *at == '\\')
			fprintf(stream, "\\%c", *at);
		else if (*at < ' ' || *at == 0x7f)
			fprintf(stream, "\\u%04x", *at);
		else if (length == 0)
			fputs("\\ufffd", stream);
		else
			fwrite(at, 1, length, stream);
		at += length ? length : 1;
	}
	putc('"', stream);
}

void json_key(struct json *json, const char *key)
{
	if (json->more)
		fputs(", ", json->stream);
	json->more = true;
	if (key) {
		json_string(json->stream, key);
		fputs(": ", json->stream);
	}
}

void json_open(struct json *json, const char *bracket)
{
	fputs(bracket, json->stream);
	json->more = false;
}

void json_close(struct json *json, const char *bracket)
{
	fputs(bracket, json->stream);
	json->more = true;
}

void json_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json->stream, text);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	fprintf(json->stream, "%llu", (unsigned long long)number);
}

void json_null(struct json *json, const char *key)
{
	json_key(json, key);
	fputs("null", json->stream);
}

void json_seconds(struct json *json, const char *key, weir_time time)
{
	json_key(json, key);
	if (time < 0)
		time = 0;
	fprintf(json->stream, "%lld.%06lld", (long long)(time / WEIR_SECOND),
		(long long)(time % WEIR_SECOND / WEIR_US));
}
