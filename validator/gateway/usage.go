package gateway

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxUsage bounds what is kept of an answer to read its usage: a whole JSON answer, or one line of a stream.
const maxUsage = 16 << 20

// usage reads what an answer says of the tokens that it took: one JSON document, or a stream of server-sent events whose
// later figures replace earlier ones. An answer that says nothing took none.
type usage struct {
	stream  bool
	buf     []byte
	over    bool // more than can be kept: the rest is passed over, up to the next line of a stream
	in, out int64
}

func newUsage(contentType string) *usage {
	return &usage{stream: strings.HasPrefix(contentType, "text/event-stream")}
}

func (u *usage) Write(p []byte) {
	if !u.stream {
		u.keep(p)
		return
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		u.keep(line)
		if ended {
			u.take(bytes.TrimPrefix(u.buf, []byte("data:")))
			u.buf, u.over = u.buf[:0], false
		}
		p = rest
	}
}

func (u *usage) keep(p []byte) {
	if u.over = u.over || len(u.buf)+len(p) > maxUsage; u.over {
		u.buf = u.buf[:0]
		return
	}
	u.buf = append(u.buf, p...)
}

// figures are the names that both APIs have for tokens.
type figures struct {
	In         int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Out        int64 `json:"output_tokens"`
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
}

func (u *usage) take(text []byte) {
	if !bytes.Contains(text, []byte(`"usage"`)) {
		return
	}
	type holder struct {
		Usage *figures `json:"usage"`
	}
	var a struct {
		holder
		Message  holder `json:"message"`  // message_start
		Response holder `json:"response"` // response.completed
	}
	if json.Unmarshal(text, &a) != nil {
		return
	}
	for _, f := range []*figures{a.Usage, a.Message.Usage, a.Response.Usage} {
		if f != nil {
			u.in = max(u.in, f.In+f.CacheWrite+f.CacheRead, f.Prompt)
			u.out = max(u.out, f.Out, f.Completion)
		}
	}
}

// total is what the whole answer took.
func (u *usage) total() (in, out int64) {
	u.take(bytes.TrimPrefix(u.buf, []byte("data:")))
	return max(u.in, 0), max(u.out, 0)
}
