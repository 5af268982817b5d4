// Package shim is both ends of the program's hold on a box: the init that runs as PID 1 in it, and the client that
// speaks to that init over its stdin and stdout. Every engine starts the same init, so a command behaves the same
// everywhere and costs no call to the engine.
//
// An engine starts [sandbox.Init, Arg] as PID 1, uid 0 of the box with SETUID, SETGID and KILL and, where it may be
// given, SETPCAP, with no_new_privs, on a read-only root with a /proc of the box's own. sandbox.Init can be executed by
// every uid. Nothing else in the box runs as uid 0: a kill in the name of a session would reach it. Writable are:
//
//	/tmp, /work, /dev/shm   1777, of limited size
//	/opt/validate           0755, owned by InstallUID
//
// and hands the init's stdio to Connect. The protocol is described in docs/shim-protocol.md.
package shim

import "github.com/trkr-dev/trkr-validate/sandbox/internal/wire"

// Arg is the hidden first argument that makes this program the init of a box: engines start [sandbox.Init, Arg].
const Arg = wire.Arg

// Uids of a box. Each command runs under the uid of its session; the gid is the same number.
const (
	InstallUID = wire.InstallUID // the install session, owner of sandbox.Prefix
	FirstUID   = wire.FirstUID   // the first of all other sessions
)
