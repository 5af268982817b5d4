package wire

// HelperTalk is the helper that speaks to a server of the box.
const HelperTalk = "talk"

// MaxTalk bounds what a server may answer.
const MaxTalk = 16 << 20

// Talk is what that helper is asked.
type Talk struct {
	Address string `json:"address"`
	Request []byte `json:"request"`
	Most    int64  `json:"most"`
	Within  int64  `json:"within"`        // nanoseconds
	UID     int    `json:"uid,omitempty"` // whose server must answer; 0: anybody's
}

// Reply is what it says, as one message. The data follow in frames of stdout, Bytes in all.
type Reply struct {
	Connected bool   `json:"connected,omitempty"`
	Other     bool   `json:"other,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
}
