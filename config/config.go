// Package config holds the settings of a run: typed, strict, each value with the source it came from.
package config

import "time"

// Config is what is in force for a run. Every limit is positive; Resolve sees to it.
type Config struct {
	Ticket   Ticket
	Issue    Issue
	Validate Validate
	Loop     Loop

	Orchestrator bool // false: no triage agent is asked, whatever Loop says
}

// Ticket says how an issue maps to a branch and a folder. {issue} stands for the id.
type Ticket struct {
	Branch string // default "trkr/{issue}"
	Dir    string // default ".trkr/tickets/{issue}"
	Base   string // the default branch; empty: found out
}

// Issue says where an issue's body comes from.
type Issue struct {
	Source     string // "command" or "github"
	Command    string // run with sh; prints the body. Empty: none
	Repository string // of GitHub, "owner/name"; empty: what the environment names
	URL        string // of GitHub's API; empty: what the environment names, else github.com's
}

// Validate says how a ticket is built, boxed and judged.
type Validate struct {
	Build        string
	BuildImage   string // the image of the container to build in; empty: on this machine
	BuildTimeout time.Duration
	Env          []string  // NAME=value or NAME, for the build
	Artifacts    []string  // globs, relative to the worktree
	AllowTracked []string  // globs of matches that git tracks and that are artifacts all the same
	Engine       string    // "auto", "docker", "gvisor"
	Image        string    // "host" or the name of an image
	Mounts       []string  // host folders added read-only, image "host" only
	Install      []string  // commands; empty: by the artifact's kind
	InstallFrom  []string  // host:port of what the install may reach; empty: nothing
	Services     []Service // run beside each check
	Agents       []Agent
	Prove        string        // what an assertion gets that a program which does nothing meets: "note" or "blocking"
	Timeout      time.Duration // install and agents together
	Limits       Limits
	Commit       bool
}

// Service is one entry of "services".
type Service struct {
	Command string // run with sh in the box
	Ready   string // "tcp:5432", "http://127.0.0.1:8080/health" or a command that succeeds
}

// Agent is one entry of "agent".
type Agent struct {
	Kind    string   // "probe" or "command"
	Command []string // of a command
	Env     []string // NAME=value or NAME, for its process alone
	Trust   string   // "inside" where the config accepts an inside agent's word
}

// Limits of the box and of the artifact set.
type Limits struct {
	Memory    int64 // bytes
	CPUs      float64
	Pids      int
	Output    int64 // bytes, each command
	Tmp       int64 // bytes, each writable file system
	Artifacts int64 // bytes, all artifacts together
	Files     int   // artifacts
}

// Loop says when a repair loop ends, and who is asked between two turns.
type Loop struct {
	Turns   int           // how many there may be
	Plateau int           // so many turns without less to do end it
	Errors  int           // so many failures of the environment in a row end it
	Time    time.Duration // of all turns and repairs together
	Cost    float64       // of all repairs together, in whatever they count; 0: not bounded
	Handoff bool          // every turn needs an implementation.md

	Triage        string        // asks the triage agent; run with sh. Empty: there is none
	TriageTimeout time.Duration // how long it may take
	FileTicket    string        // files an issue; run with sh. Empty: nothing can be filed
	Comment       string        // posts a comment on the ticket; run with sh. Empty: nothing can be posted
}
