package stage

// later runs f beside the steps that follow, and returns what waits for it. It is over when the run is. f must not touch
// what the steps do.
func later[T any](r *run, f func() (T, error)) func() (T, error) {
	done := make(chan struct{})
	var answer T
	var err error
	go func() {
		defer close(done)
		answer, err = f()
	}()
	r.onClose(func() error {
		<-done
		return nil // whoever wanted to know has heard it
	})
	return func() (T, error) {
		<-done
		return answer, err
	}
}
