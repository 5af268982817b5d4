package stage

import (
	"github.com/rs/zerolog"

	"github.com/trkr-dev/trkr-validate/internal/event"
)

// logSink shows the events of a run among its diagnostics.
type logSink struct{ log zerolog.Logger }

func (s logSink) Emit(e event.Event) {
	line := s.log.Debug().Str("event", string(e.Type))
	if e.Step != "" {
		line = line.Str("step", e.Step)
	}
	if e.MS > 0 {
		line = line.Int64("ms", e.MS)
	}
	if e.Criterion != nil {
		line = line.Str("criterion", e.Criterion.ID).Str("status", string(e.Criterion.Status))
	}
	line.Msg(e.Detail)
}
