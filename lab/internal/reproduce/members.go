package reproduce

import "encoding/json"

// members are a JSON object whose members keep their order.
type members []member

// member is a member of a JSON object.
type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}
