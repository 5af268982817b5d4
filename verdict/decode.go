package verdict

// DecodeStrict decodes one JSON document into out, a pointer to a struct, as typed reviews are decoded: unknown keys, keys
// of another case, keys that stand twice, nulls and anything after the value are errors, which never quote data.
func DecodeStrict(data []byte, out any) error { return strictJSON(data, out) }
