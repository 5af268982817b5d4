package wire

// HelperBuild is the second argument that makes the program PID 1 of a build's container; the third is the file of its
// BuildOrder.
const HelperBuild = "build"

// HelperShut is the second argument that makes the program the command that the other arguments are, which can make no
// namespaces.
const HelperShut = "shut"

// Identity of the command where BuildOrder.UID is 0: in a user namespace of its own, which makes of it uid 0 outside. So
// its files belong to whoever started the container, also where no second uid can be had.
const BuildUID = 1000

// BuildFile bounds the bytes of one file that a build makes, holes included: Docker's daemon reads them all.
const BuildFile = 256 << 30

// BuildReady is the first that the PID 1 of a build says, where it is asked to.
const BuildReady = "\x06"

// BuildOrder is what the PID 1 of a build's container is to do.
type BuildOrder struct {
	Script   []byte
	Dir      string
	Env      [][]byte
	Result   string // the file of the BuildResult
	UID      int    // of the command; 0: see BuildUID
	Pids     int    // processes and threads of the command at once
	Memory   int64  // bytes of all processes together; 0: somebody else looks
	CPUs     int    // 0: all
	Timeout  int64  // nanoseconds
	Lifeline bool   // it says BuildReady and waits for a byte before it begins; the end of stdin ends everything
}

// BuildResult is what became of it. The command can write one as well: it is worth as much as the command's exit code.
type BuildResult struct {
	Failure   string `json:",omitempty"` // why the command could not be run; nothing else is set then
	Code      int
	Signal    string   `json:",omitempty"`
	Cause     string   `json:",omitempty"`
	Detail    string   `json:",omitempty"`
	Elapsed   int64    // nanoseconds
	Leftovers []string `json:",omitempty"`
}
