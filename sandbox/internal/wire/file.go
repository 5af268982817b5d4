package wire

// Params is what the helpers of the init are asked, as one message on their stdin.
type Params struct {
	Full    int64    `json:"full,omitempty"`    // inputs: bytes hashed whole
	Content int64    `json:"content,omitempty"` // observe: bytes returned of each file
	Names   [][]byte `json:"names,omitempty"`   // observe: paths; lookpath: program names
	Dir     []byte   `json:"dir,omitempty"`     // observe, lookpath: where relative names begin; it may be gone
	Talk    *Talk    `json:"talk,omitempty"`    // talk
}

// File is one path that a helper saw: one message each. The content follows in frames of stdout, Bytes in all.
type File struct {
	Path    []byte `json:"path"`
	Type    string `json:"type,omitempty"`
	Mode    uint32 `json:"mode,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Target  []byte `json:"target,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
}

// Fact is one line of what a helper saw of the isolation.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Names of the helpers.
const (
	HelperInputs    = "inputs"
	HelperObserve   = "observe"
	HelperLookPath  = "lookpath"
	HelperIsolation = "isolation"
	HelperRemove    = "remove"
)

// Arg is the hidden first argument that makes the program an init, or with a helper's name after it that helper.
const Arg = "--trkr-shim"

// Uids of a box.
const (
	InstallUID = 10001
	LookUID    = 10002 // of what looks at the box for no session; no process has it
	FirstUID   = 10003
	LastUID    = 65533
)
