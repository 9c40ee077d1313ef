-- What is in the file. schema.c runs this in an empty one; user_version is its version.
--
-- A migration that changes what a table means gives it another name, so that the statements of an
-- older weir that still has the file open fail instead of misreading it.

-- One row: what is true of the whole file.
CREATE TABLE store (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	boot TEXT NOT NULL,      -- of which boot the claims and their times are
	epoch INTEGER NOT NULL   -- the upper half of every fence is at most this
);

-- The head of a record, struct weir__rec. Rows stay: the limit lives here.
CREATE TABLE semaphore (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	permits INTEGER NOT NULL, -- the limit
	held INTEGER NOT NULL,
	holders INTEGER NOT NULL,
	waiting INTEGER NOT NULL,
	fence INTEGER NOT NULL,
	ticket INTEGER NOT NULL,
	at_once INTEGER NOT NULL,
	after_wait INTEGER NOT NULL,
	refused INTEGER NOT NULL,
	expired INTEGER NOT NULL,
	renewals_failed INTEGER NOT NULL,
	-- Before these times nothing here expires or falls silent, so nobody need look.
	next_expiry INTEGER NOT NULL,
	next_silence INTEGER NOT NULL,
	slots,                    -- bits: a number while 64 are enough, else words in a blob
	waits BLOB                -- struct weir__waits; NULL until somebody has waited
);

-- Requests that wait, and leases.
CREATE TABLE claim (
	id INTEGER PRIMARY KEY,   -- from the token's first bytes, which are random
	semaphore INTEGER NOT NULL,
	state INTEGER NOT NULL,   -- enum weir__claim_state: WAITING or HOLDING
	due INTEGER NOT NULL,     -- when it falls silent, or expires
	ticket INTEGER,           -- of those that wait
	shared INTEGER,           -- 1: others may ask under the same request id
	request_id TEXT NOT NULL,
	owner TEXT NOT NULL,
	token BLOB NOT NULL,
	weight INTEGER NOT NULL,
	ttl INTEGER NOT NULL,
	max_hold INTEGER NOT NULL,
	since INTEGER NOT NULL,
	fence INTEGER,
	slot INTEGER,
	hard_end INTEGER,
	detached INTEGER NOT NULL, -- 1: once it holds, no process is the holder, or several are
	-- Who: a process is a pid and when it started, as seen in one namespace.
	pid INTEGER NOT NULL,
	start INTEGER NOT NULL,
	space INTEGER NOT NULL,
	agent INTEGER NOT NULL    -- the name of its socket
);

CREATE INDEX claim_due ON claim (semaphore, state, due);
CREATE INDEX claim_queue ON claim (semaphore, ticket) WHERE ticket IS NOT NULL;
CREATE INDEX claim_request ON claim (semaphore, request_id) WHERE shared = 1;
