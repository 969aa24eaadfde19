package parquet

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/noregret/noregret"
)

// Kind is what the cells of a column are in CSV.
type Kind string

// The kinds.
const (
	// Number is an integer, a decimal with all of its digits, a float in the fewest digits that say
	// it, a boolean as 1 or 0, or a time of day in seconds.
	Number Kind = "numbers"
	// Date is YYYY-MM-DD.
	Date Kind = "dates"
	// Timestamp is YYYY-MM-DDThh:mm:ss, with a fraction if there is one, and Z if the file says
	// that the times are UTC.
	Timestamp Kind = "timestamps"
	// Text is UTF-8, and the lower-case hexadecimal digits of a UUID.
	Text Kind = "texts"
	// Empty is a column without values.
	Empty Kind = "nothing"
)

// Column is a column of a file.
type Column struct {
	Name string
	Kind Kind
}

// leaf is a column as the file stores it.
type leaf struct {
	Column
	chunk    int  // its number among the column chunks of a row group
	optional bool // it may have nulls, and then has levels
	format   cell
}

// maxScale bounds the digits after a decimal's point, and maxDecimal the bytes of a decimal.
const (
	maxScale   = 200
	maxDecimal = 128
)

// leaves returns the columns of a schema in their order without those that are ignored by name.
func leaves(name string, schema []format.SchemaElement, ignore []string) ([]leaf, error) {
	var all []leaf
	seen := map[string]bool{}
	at, chunk := 1, 0
	for range schema[0].NumChildren.V {
		if at >= len(schema) {
			return nil, noregret.BadInputf(name, "damaged: the schema ends within its columns")
		}
		top := &schema[at]
		next, chunks := skipField(schema, at)
		l := leaf{Column: Column{Name: top.Name}, chunk: chunk, optional: top.RepetitionType.V == format.Optional}
		at, chunk = next, chunk+chunks
		if seen[top.Name] {
			return nil, noregret.BadInputf(name, "two columns are named %q: rename one", top.Name)
		}
		seen[top.Name] = true
		if slices.Contains(ignore, top.Name) {
			continue
		}
		place := fmt.Sprintf("%s: column %q", name, top.Name)
		if !top.Type.Valid || top.RepetitionType.V == format.Repeated {
			return nil, noregret.BadInputf(place, "the field is a %s, and a cell holds one value: leave it out "+
				"(--ignore-columns), or write its parts as columns of their own", nested(top))
		}
		var fault string
		if l.Kind, l.format, fault = cellOf(top); fault != "" {
			return nil, noregret.BadInputf(place, "%s: leave it out (--ignore-columns)", fault)
		}
		all = append(all, l)
	}
	for _, n := range ignore {
		if !seen[n] {
			return nil, noregret.BadInputf(name, "there is no column %q to ignore", n)
		}
	}
	if len(all) == 0 {
		return nil, noregret.BadInputf(name, "the file has no columns, or all of them are ignored")
	}
	return all, nil
}

// skipField returns the element after a field and everything in it, and how many columns it stores.
func skipField(schema []format.SchemaElement, at int) (next, chunks int) {
	for open := 1; open > 0 && at < len(schema); at++ {
		open--
		if schema[at].Type.Valid {
			chunks++
		} else {
			open += int(schema[at].NumChildren.V)
		}
	}
	return at, chunks
}

// nested names what a field with parts is.
func nested(e *format.SchemaElement) string {
	converted := e.ConvertedType
	switch e.LogicalType.Value.(type) {
	case *format.MapType:
		return "map"
	case *format.ListType:
		return "list"
	}
	switch {
	case converted.Valid && (converted.V == deprecated.Map || converted.V == deprecated.MapKeyValue):
		return "map"
	case converted.Valid && converted.V == deprecated.List, e.RepetitionType.V == format.Repeated:
		return "list"
	}
	return "struct"
}

// cellOf returns how values of an element are written, or why they are not.
func cellOf(e *format.SchemaElement) (kind Kind, write cell, fault string) {
	physical := e.Type.V
	whole := physical == format.Int32 || physical == format.Int64
	binary := physical == format.ByteArray || physical == format.FixedLenByteArray
	switch t := logical(e).(type) {
	case nil:
	case *format.StringType, *format.EnumType, *format.JsonType:
		if binary {
			return Text, textCell, ""
		}
	case *format.UUIDType:
		if physical == format.FixedLenByteArray && e.TypeLength.V == 16 {
			return Text, uuidCell, ""
		}
	case *format.Float16Type:
		if physical == format.FixedLenByteArray && e.TypeLength.V == 2 {
			return Number, float16Cell, ""
		}
	case *format.NullType:
		return Empty, nullCell, ""
	case *format.DecimalType:
		if t.Scale < 0 || t.Scale > maxScale {
			return "", nil, fmt.Sprintf("the decimals have %d digits after the point, and 0 to %d are read",
				t.Scale, maxScale)
		}
		if whole || binary {
			return Number, decimalCell(physical, int(t.Scale)), ""
		}
	case *format.DateType:
		if physical == format.Int32 {
			return Date, dateCell, ""
		}
	case *format.TimeType:
		if unit := ticks(&t.Unit); unit > 0 && whole {
			return Number, clockCell(physical, unit), ""
		}
	case *format.TimestampType:
		if unit := ticks(&t.Unit); unit > 0 && physical == format.Int64 {
			return Timestamp, timestampCell(unit, t.IsAdjustedToUTC), ""
		}
	case *format.IntType:
		if whole {
			return Number, intCell(physical, t.IsSigned), ""
		}
	default:
		return "", nil, fmt.Sprintf("the values are %s, which is not read", t)
	}
	if t := logical(e); t != nil {
		return "", nil, fmt.Sprintf("damaged: values of the type %s are stored as %s", t, physical)
	}
	if e.ConvertedType.Valid { // that logical does not know
		return "", nil, fmt.Sprintf("the values have the converted type %d, which is not read", e.ConvertedType.V)
	}
	switch physical {
	case format.Boolean:
		return Number, booleanCell, ""
	case format.Int32, format.Int64:
		return Number, intCell(physical, true), ""
	case format.Int96:
		return Timestamp, int96Cell, ""
	case format.Float:
		return Number, floatCell(32), ""
	case format.Double:
		return Number, floatCell(64), ""
	case format.ByteArray: // older writers do not say that these are texts
		return Text, textCell, ""
	}
	return "", nil, "the values are bytes without a meaning"
}

// logical returns the type of an element's values, also where an older writer has used the
// converted types, or nil.
func logical(e *format.SchemaElement) format.LogicalTypeValue {
	if e.LogicalType.Value != nil || !e.ConvertedType.Valid {
		return e.LogicalType.Value
	}
	millis := format.TimeUnit{Value: new(format.MilliSeconds)}
	micros := format.TimeUnit{Value: new(format.MicroSeconds)}
	switch c := e.ConvertedType.V; c {
	case deprecated.UTF8:
		return new(format.StringType)
	case deprecated.Enum:
		return new(format.EnumType)
	case deprecated.Json:
		return new(format.JsonType)
	case deprecated.Bson:
		return new(format.BsonType)
	case deprecated.Decimal:
		return &format.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}
	case deprecated.Date:
		return new(format.DateType)
	case deprecated.TimeMillis:
		return &format.TimeType{Unit: millis}
	case deprecated.TimeMicros:
		return &format.TimeType{Unit: micros}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: millis}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: micros}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return &format.IntType{BitWidth: 8 << (c - deprecated.Uint8)}
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return &format.IntType{BitWidth: 8 << (c - deprecated.Int8), IsSigned: true}
	}
	return nil
}

// ticks returns how many units of time are a second, or 0.
func ticks(u *format.TimeUnit) int64 {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return 1e3
	case *format.MicroSeconds:
		return 1e6
	case *format.NanoSeconds:
		return 1e9
	}
	return 0
}
