package images

import (
	"context"
	"io"
)

// Limits of one image: far above any honest one, and far below what fills a machine.
const (
	maxBytes   = 16 << 30
	maxEntries = 1 << 20
	maxLayers  = 512
	maxJSON    = 8 << 20 // a manifest, an index, a configuration
)

// budget is what an image may still take. A layer that is a bomb is a named error before it did its work.
type budget struct {
	ctx     context.Context
	stream  int64 // bytes of the layers, unpacked
	files   int64 // bytes of files, as long as they say they are
	entries int64
}

func newBudget(ctx context.Context) *budget {
	return &budget{ctx: ctx, stream: maxBytes, files: maxBytes, entries: maxEntries}
}

// entry takes one more entry and the bytes of its file.
func (b *budget) entry(size int64) error {
	if b.entries--; b.entries < 0 {
		return tooLarge("the image holds more than %d files and folders", maxEntries)
	}
	if size < 0 || size > b.files {
		return tooLarge("the image's files hold more than %d GiB", maxBytes>>30)
	}
	b.files -= size
	return nil
}

// reader takes what is read through it from the stream's budget. It also ends when the context does.
func (b *budget) reader(r io.Reader) io.Reader { return &budgeted{b, r} }

type budgeted struct {
	b *budget
	r io.Reader
}

func (r *budgeted) Read(p []byte) (int, error) {
	if err := r.b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if r.b.stream -= int64(n); r.b.stream < 0 {
		return n, tooLarge("the image's layers hold more than %d GiB", maxBytes>>30)
	}
	return n, err
}
