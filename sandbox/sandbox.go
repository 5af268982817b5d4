// Package sandbox is the seam between the program and what isolates the artifact. An Engine starts a box from a Spec;
// a Sandbox opens sessions in it; a Session runs commands as a uid of its own. Nothing outside the packages below
// this one knows which engine is used.
package sandbox

import (
	"context"
	"io"
	"net"
	"time"
)

// Paths inside every box.
const (
	Root     = "/validate"             // read-only: contract.md and artifact/, nothing else
	Contract = "/validate/contract.md" //
	Artifact = "/validate/artifact"    //
	Prefix   = "/opt/validate"         // written by install sessions only; when one has ended, all may read what is there
	Init     = "/run/trkr/init"        // this program's init, read-only
	Work     = "/work"                 // where the directories of sessions are
)

// DefaultPath is PATH where an image names none.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Engine makes boxes. Its methods may be called at the same time.
type Engine interface {
	// Name is "docker" or "gvisor".
	Name() string
	// Check tells whether a box could be started now, within a few seconds and without starting one.
	// An engine that cannot is a *fault.Error whose hints say what to change.
	Check(ctx context.Context) (Version, error)
	// Start boots a box. When it returns, every limit of the spec is in force or said to be otherwise in Info.
	// The caller closes the Sandbox. After an error nothing of the box is left. ctx bounds the start only.
	Start(ctx context.Context, spec Spec) (Sandbox, error)
	// Sweep removes what runs of this user left behind whose program no longer lives, and returns their names.
	// It never touches a live run's or another user's things. With dryRun it only names them.
	Sweep(ctx context.Context, dryRun bool) ([]string, error)
}

// Fetcher is an Engine that can get an image ready before a box of it is started.
type Fetcher interface {
	// Fetch makes sure that a box of the image could be started, and settles which one is meant by its name: every later
	// Start of this Engine takes that one. dir is Spec.ImageDir. It fetches no image of the artifact set, and not "host".
	Fetch(ctx context.Context, image, dir string) error
}

// ImageSweeper is an Engine that keeps images on this machine.
type ImageSweeper interface {
	// SweepImages removes the images that this program made or fetched and that no box uses now, and returns their
	// names. It touches no image that others brought there. With dryRun it only names them.
	SweepImages(ctx context.Context, dryRun bool) ([]string, error)
}

// Version describes a usable engine.
type Version struct {
	Version string // of the engine
	Detail  string // for doctor: "root", "rootless", "API 1.41, overlay2", ...
}

// Spec describes a box.
type Spec struct {
	RunID    string   // names the box
	Input    string   // host directory with contract.md and artifact/; appears as Root, read-only
	Image    string   // "host" or the name of an image, as images.ParseName reads it
	ImageDir string   // host directory that a relative path in Image begins at; empty: the working directory
	Mounts   []string // host directories added read-only at the same path; image "host" only
	Hidden   []string // host paths (the repository) that no mount may contain: such a mount is an error
	Limits   Limits
}

// Limits of a box. All must be positive.
type Limits struct {
	Memory int64   // bytes, without swap, everything in the box together
	CPUs   float64 // cores
	Pids   int     // processes and threads alive at once
	Output int64   // bytes of stdout and stderr together, each command
	Tmp    int64   // bytes of each writable file system
}

// Info is what is known of a started box.
type Info struct {
	Engine        string
	EngineVersion string
	Image         string
	ImageDigest   string            // "sha256:..."; empty for "host"
	Userland      string            // PRETTY_NAME of the box's os-release, or empty
	Product       bool              // the image is of the artifact set: no program in it is trusted
	Path          string            // PATH of the image
	Limits        map[string]string // how each limit is kept: "2GiB enforced", "2GiB supervised", "unavailable: why"
}

// Sandbox is a running box. Its methods may be called at the same time.
type Sandbox interface {
	Info() Info
	// Inputs lists everything under Root as seen from inside. Regular files are hashed whole while they sum up to
	// at most full bytes; beyond that only their first and last MiB are.
	Inputs(ctx context.Context, full int64) ([]File, error)
	// Isolation tells what a command sees from inside: uid, capabilities, no_new_privs, seccomp, network interfaces,
	// routes, read-only root. Keys are stable, values are for people.
	Isolation(ctx context.Context) (map[string]string, error)
	// Open makes a session with a fresh uid, HOME and working directory. The caller closes it.
	Open(ctx context.Context, s SessionSpec) (Session, error)
	// Close ends the box and removes all of it. It is idempotent; a second call returns the first result.
	Close() error
}

// Role decides what a session may write.
type Role string

// Roles of a session.
const (
	RoleInstall Role = "install" // the one uid that owns Prefix
	RoleSubject Role = "subject" // the program under test
	RoleAgent   Role = "agent"   // an agent that lives in the box
	RoleService Role = "service" // what the product needs beside it, such as a database
)

// SessionSpec describes a session.
type SessionSpec struct {
	Role Role
	Env  []string // NAME=value, on top of HOME, PATH, TMPDIR, LANG=C.UTF-8, USER and TERM=dumb
	// Decoys names programs that are found first on PATH and do nothing but exit with DecoyExit.
	Decoys    []string
	DecoyExit int
}

// Session is one check's identity in the box. Its methods must not be called at the same time.
type Session interface {
	// Dir is the session's empty working directory, absolute inside the box. Home is its HOME.
	Dir() string
	Home() string
	// Run runs one command to its end. When it returns, no process of the session is left. The error is about the
	// box alone (a *LostError, a cancelled ctx); whatever the command did, or that it could not be started, is in Exit.
	Run(ctx context.Context, c Command) (Exit, error)
	// Observe looks at paths (relative to Dir) as the session's uid, following no link at the last component.
	// A path that is not there has Type "": so has every one where Dir is gone. What cannot be looked at, because a
	// directory is shut or because a link leads out of Dir, is Unseen. An absolute path may lie anywhere.
	// Up to content bytes of each regular file are returned.
	Observe(ctx context.Context, content int64, paths ...string) ([]File, error)
	// LookPath resolves program names the way the session's PATH would, links followed to the end. An element is
	// empty where nothing executable was found.
	LookPath(ctx context.Context, names ...string) ([]string, error)
	// Talk speaks to a server that a command of another session runs, as this session's uid.
	Talk(ctx context.Context, t Talk) (Reply, error)
	// Listen opens a port of the box's loopback, which Addr names, to processes of the session alone: a connection of any
	// other uid is closed. Each connection comes out of the listener, and at most 64 at once. It may be used while a
	// command runs; close it before the session.
	Listen(ctx context.Context) (net.Listener, error)
	// Close kills what is left of the session and removes its directories. Idempotent.
	Close() error
}

// Command is one command of a session.
type Command struct {
	Args    []string // Args[0] is looked up in the session's PATH unless it holds a slash
	Dir     string   // absolute; default: the session's working directory
	Env     []string // NAME=value, on top of the session's
	Stdin   io.Reader
	Stdout  io.Writer // nil discards
	Stderr  io.Writer
	Timeout time.Duration // 0: none of its own
	TTY     *TTY          // a terminal instead of pipes; Stderr is unused then
}

// TTY asks for a terminal. Resize may be nil; the caller closes it or leaves it open.
type TTY struct {
	Rows, Cols uint16
	Resize     <-chan [2]uint16 // rows, cols
}

// File is one path seen from inside. Names are raw bytes, not always UTF-8.
type File struct {
	Path    string // relative, slashes
	Type    string // "file", "dir", "link", "other", Unseen, or "" where nothing is there
	Mode    uint32 // permission bits with setuid, setgid and sticky as in st_mode & 07777
	Size    int64
	Digest  string // hex sha256 of a regular file; of its first and last MiB where Partial
	Partial bool
	Target  string // of a link
	Content []byte // Observe only
}

// Unseen is the type of a path of which it is not known what is there, if anything.
const Unseen = "unseen"
