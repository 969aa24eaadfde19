package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
)

// csvPlan describes the cells of one CSV file.
type csvPlan struct {
	delim   byte
	skip    int // bytes of the header and of what is before it
	columns []csvColumn
	direct  uint32 // number of the features that do not come by name
	sorted  bool   // these ascend in the order of the columns
	labeled bool   // there is a label column

	keys map[string]*csvColumn // JSONL: the columns by their keys, nil without any
	// JSONL: the keys whose numbers count the first rows, nil without any
	counting map[string]bool
}

// csvColumn is a column as the parser sees it.
type csvColumn struct {
	name     string
	kind     ColumnKind
	feature  uint32          // numeric: its feature (its slot when hashed)
	parts    []uint32        // of Column.parts
	prefix   []byte          // "name=", of a text "name#"
	weight   map[int]float64 // of a text: of its slots
	rare     float64         // of a text: of the other slots
	notation notation        // numeric
	center   float64
	order    string // of a date: Column.DateOrder
	year     int    // of a date: the year of day 0
	named    bool   // categorical because an option says so
	unseen   bool   // ignored because the schema lacks it: its cells are counted
}

// csvPlanner plans files in order. The first file determines the columns unless a schema does.
type csvPlanner struct {
	opt     *Options
	columns []Column
	parts   map[string][]uint32        // the features of Column.parts, by the name of the column
	weights map[string]map[int]float64 // Column.wordWeights
	rare    map[string]float64
	named   map[string]bool // columns that an option says are categorical
	header  bool            // the names come from a header
	partial bool            // the head may become longer: errPlanLater asks for that
}

// errPlanLater reports that a plan needs more of the file. Callers outside the package never see
// it.
var errPlanLater = errors.New("more of the file is needed")

// setColumns fixes the columns and assigns features to their parts.
func (p *csvPlanner) setColumns(columns []Column, header bool, features []string) {
	p.columns, p.header = columns, header
	p.parts = map[string][]uint32{}
	p.weights, p.rare = map[string]map[int]float64{}, map[string]float64{}
	number := make(map[string]uint32, len(features))
	for i, f := range features {
		number[f] = uint32(i)
	}
	next := uint32(0)
	for _, c := range columns {
		var parts []uint32
		for _, name := range c.parts() {
			f := next
			switch next++; {
			case p.opt.Bits > 0:
				f = hashName([]byte(name), p.opt.Bits)
			case features != nil:
				f = number[name]
			}
			parts = append(parts, f)
		}
		p.parts[c.Name] = parts
		if c.Kind == Text {
			p.weights[c.Name], p.rare[c.Name] = c.wordWeights()
		}
	}
}

// readLike fixes the columns to those of a schema. What it reads as categories may be names.
func (p *csvPlanner) readLike(s *Schema) {
	p.setColumns(s.Columns, s.Header, nil)
	p.named = map[string]bool{}
	for _, c := range s.Columns {
		p.named[c.Name] = c.Kind == Categorical
	}
}

// features returns the names of the parts of the columns, which are the first features of a new
// feature space.
func (p *csvPlanner) features() []string {
	out := []string{}
	for _, c := range p.columns {
		out = append(out, c.parts()...)
	}
	return out
}

// headRows splits the first rows of a file.
type headRows struct {
	cellReader
	file  string
	rest  []byte
	whole bool // rest is all there is
	grows bool // rest may become longer
	line  int64
	at    int64 // the line of the latest row that was returned, 0 before the first
	used  int
	bound int // the bytes that are left of a row whose quotes do not pair up, or 0
}

// first returns the cells of the first row that is not blank, nil if the head does not have all of
// it, and an error for a bad row.
func (h *headRows) first() ([]string, error) {
	for len(h.rest) > 0 {
		n, ended := rowEnd(h.rest, h.delim, h.plain)
		if !ended && !h.whole {
			return nil, nil
		}
		if err := h.row(n); err != nil {
			return nil, noregret.BadInputf(place(h.file, h.line), "%s", err)
		}
		h.at = h.line
		h.take(n)
		if len(h.cells) > 0 {
			return h.copied(), nil
		}
	}
	return nil, nil
}

// next returns the cells of the next row that is not blank, or nil at the end of the head. It
// leaves out bad rows as the parser does: see [csvParser.rows]. A row that takes half of the
// largest head without an end has a quote that was left open. After lookRows bad rows there is
// none.
func (h *headRows) next() []string {
	for bad := 0; len(h.rest) > 0 && bad < lookRows; {
		data := h.rest
		if h.bound > 0 {
			data = data[:h.bound]
		}
		n, ended := rowEnd(data, h.delim, h.plain)
		if !ended && h.bound == 0 && !h.whole && (h.grows || n < peekBytes/2) {
			return nil
		}
		err := h.row(n)
		if err != nil {
			bad++
		}
		if _, ok := errors.AsType[*quoteError](err); ok && countLines(data[:n]) > 1 {
			if h.bound == 0 {
				h.bound = n
			}
			n = bytes.IndexByte(data, '\n') + 1
		}
		h.at = h.line
		h.take(n)
		if err == nil && len(h.cells) > 0 {
			return h.copied()
		}
	}
	return nil
}

// row splits the next n bytes.
func (h *headRows) row(n int) error {
	if row := h.rest[:n]; !utf8.Valid(row) {
		return notUTF8(row)
	}
	return h.split(h.rest[:n])
}

// take goes on behind the next n bytes.
func (h *headRows) take(n int) {
	h.line += int64(bytes.Count(h.rest[:n], []byte("\n")))
	h.rest = h.rest[n:]
	h.used += n
	h.bound = max(0, h.bound-n)
}

// copied returns a copy of the cells.
func (h *headRows) copied() []string {
	row := make([]string, len(h.cells))
	for i, c := range h.cells {
		row[i] = string(c)
	}
	return row
}

// plan determines the columns of a file from its start, which is all of it if whole is set.
func (p *csvPlanner) plan(file string, head []byte, whole bool) (*csvPlan, error) {
	few := bytes.Count(head, []byte("\n")) < lookRows
	if few && p.columns == nil && p.partial && p.opt.Missing == MissingIndicator {
		return nil, errPlanLater // before any row is looked at: this is asked again for every piece
	}
	delim, before := byte(0), 0
	if p.opt.only == nil { // else the line is a row
		delim, before = separatorLine(head)
		head = head[before:]
	}
	if p.opt.Delimiter != "" {
		delim = p.opt.Delimiter[0]
	} else if before == 0 {
		ended := false
		if delim, ended = findDelimiter(head, p.opt.NoQuotes); !ended && p.partial {
			return nil, errPlanLater
		}
		if line, _, _ := bytes.Cut(head, []byte("\n")); isTSV(file) && bytes.IndexByte(line, '\t') >= 0 {
			delim = '\t'
		}
	}
	h := &headRows{
		cellReader: cellReader{delim: delim, plain: p.opt.NoQuotes}, file: file, rest: head, whole: whole,
		grows: p.partial, line: 1, used: before,
	}
	if before > 0 {
		h.line++
	}
	start := *h
	first, err := h.first()
	if err != nil {
		return nil, err
	}
	if first == nil {
		if p.partial {
			return nil, errPlanLater
		}
		if len(h.rest) > 0 {
			return nil, noregret.BadInputf(place(file, h.line),
				"the first row is longer than %d bytes; is a quote left open?", peekBytes)
		}
		return &csvPlan{delim: delim, skip: before}, nil
	}
	skip, line := h.used, h.at
	second := h.next()
	if second == nil && p.partial {
		return nil, errPlanLater
	}
	bad := func(err error) error {
		return noregret.BadInputf(place(file, line), "%w", err)
	}
	var plan *csvPlan
	if p.columns == nil {
		plan, err = p.inferColumns(&start, h, first, second)
	} else {
		plan, err = p.match(first, second)
	}
	if errors.Is(err, errPlanLater) {
		return nil, err
	}
	if err != nil {
		return nil, bad(err)
	}
	plan.delim = delim
	if plan.skip > 0 {
		plan.skip = skip
	} else {
		plan.skip = before
	}
	return plan, nil
}

// separatorLine returns the delimiter that a first line such as sep=; names, as spreadsheets write
// it, and the length of the line, 0 if there is none.
func separatorLine(head []byte) (delim byte, size int) {
	line, _, ended := bytes.Cut(head, []byte("\n"))
	size = len(line) + 1
	line = bytes.TrimSuffix(line, []byte("\r"))
	if !ended || len(line) != 5 || !foldEqual(line[:4], "sep=") || bytes.IndexByte([]byte(",;\t|"), line[4]) < 0 {
		return 0, 0
	}
	return line[4], size
}

// inferColumns determines the columns from the first file.
func (p *csvPlanner) inferColumns(start, h *headRows, first, second []string) (*csvPlan, error) {
	header, err := p.hasHeader(*start, first, second)
	if err != nil {
		return nil, err
	}
	columns := make([]Column, len(first))
	for i := range first {
		name := ""
		if header {
			name = first[i]
		}
		columns[i].Name = columnName(name, i)
	}
	if err := p.assignRoles(columns); err != nil {
		return nil, err
	}
	row := first
	if header {
		row = second
	}
	unnamed := header && (first[0] == "" || first[0] == "Unnamed: 0")
	if settled, err := p.inferKinds(h, columns, row, second, unnamed); err != nil {
		return nil, err
	} else if !settled && p.partial {
		return nil, errPlanLater
	}
	if err := checkColumns(columns, p.opt.Missing); err != nil {
		return nil, err
	}
	if err := p.countWords(*start, columns, header); err != nil {
		return nil, err
	}
	p.setColumns(columns, header, nil)
	plan := p.planOf(columns)
	if header {
		plan.skip = 1
	}
	return plan, nil
}

// findColumn resolves a column by name, by number from 1, or as "last".
func findColumn(columns []Column, ref, what string) (int, error) {
	for i, c := range columns {
		if c.Name == ref {
			return i, nil
		}
	}
	if ref == "last" {
		return len(columns) - 1, nil
	}
	if n, err := strconv.Atoi(ref); err == nil && n >= 1 && n <= len(columns) {
		return n - 1, nil
	}
	return 0, fmt.Errorf("no %s column %q; the %d columns are %s", what, ref, len(columns),
		listNames(columnNames(columns)))
}

func columnNames(columns []Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// assignRoles sets the kinds that options name.
func (p *csvPlanner) assignRoles(columns []Column) error {
	label := p.opt.LabelColumn
	if label == "" {
		label = cmp.Or(usualLabel(columnNames(columns)), "last")
	}
	set := func(ref, what string, kind ColumnKind) error {
		i, err := findColumn(columns, ref, what)
		if err != nil {
			return err
		}
		if k := columns[i].Kind; k != "" && k != kind {
			return fmt.Errorf("column %q cannot be both %s and %s", columns[i].Name, k, kind)
		}
		columns[i].Kind = kind
		if p.named == nil {
			p.named = map[string]bool{}
		}
		p.named[columns[i].Name] = kind == Categorical
		return nil
	}
	if err := set(label, "label", LabelKind); err != nil {
		return err
	}
	if p.opt.WeightColumn != "" {
		if err := set(p.opt.WeightColumn, "weight", WeightKind); err != nil {
			return err
		}
	}
	for _, ref := range p.opt.Categorical {
		if err := set(ref, "categorical", Categorical); err != nil {
			return err
		}
	}
	for _, ref := range p.opt.TextColumns {
		if err := set(ref, "text", Text); err != nil {
			return err
		}
	}
	for _, ref := range p.opt.IgnoreColumns {
		if err := set(ref, "ignored", Ignored); err != nil {
			return err
		}
		for i := range columns {
			if c := &columns[i]; c.Name == ref && c.Kind == "" {
				c.Kind = Ignored // of the same name
			}
		}
	}
	for i := range columns {
		if c := &columns[i]; c.Kind == "" && slices.Contains(p.opt.nominal, c.Name) {
			c.Kind = Categorical
			p.named[c.Name] = true
		}
	}
	return nil
}

// inferKinds decides how the other columns are read by their values in the first data row, the
// second row, and the following rows of the head; the first column may have no name. It reports
// whether more rows could change that.
func (p *csvPlanner) inferKinds(h *headRows, columns []Column, row, second []string, unnamed bool) (
	settled bool, err error,
) {
	guesses := make([]guess, len(columns))
	guesses[0].unnamed = unnamed && !slices.Contains(p.opt.CenterColumns, columns[0].Name)
	for i, c := range columns {
		guesses[i].center = slices.Contains(p.opt.CenterColumns, c.Name)
		guesses[i].gaps = p.opt.Missing == MissingIndicator
		guesses[i].leveled = c.Kind == WeightKind // weights are not centered
	}
	for looked := 0; row != nil && !settled; looked++ {
		settled = true
		for i, c := range columns {
			if c.Kind != "" && c.Kind != WeightKind {
				continue
			}
			if len(row) == len(columns) { // else it is a bad row
				guesses[i].see([]byte(row[i]), p.opt, h.delim == ',')
			}
			settled = settled && guesses[i].settled
		}
		if settled = settled || looked+1 == lookRows; settled {
			break
		}
		if second != nil && &row[0] != &second[0] {
			row, second = second, nil
			continue
		}
		second = nil
		row = h.next()
	}
	if !settled && p.partial {
		return false, nil
	}
	other := othersOf(guesses)
	for _, name := range p.opt.CenterColumns {
		if !slices.ContainsFunc(columns, func(c Column) bool { return c.Name == name }) {
			names := columnNames(columns)
			return true, fmt.Errorf("no column %q (--center): %sthe %d columns are %s", name,
				named.DidYouMean(name, names), len(names), listNames(names))
		}
	}
	for i := range columns {
		if columns[i].Kind == "" {
			if guesses[i].isIndex() {
				return true, inColumn(columns[i].Name, countsRows("the header has no name for it, and each "+
					"of the first rows another whole number, as an index has"))
			}
			if err := guesses[i].apply(&columns[i], p.opt, other); err != nil {
				return true, err
			}
		}
		if columns[i].Kind == WeightKind {
			if err := guesses[i].applyWeight(&columns[i], p.opt, other); err != nil {
				return true, err
			}
		}
		if guesses[i].center && columns[i].Kind != Numeric {
			return true, notCentered(&columns[i])
		}
	}
	return settled, nil
}

// notCentered is the error of a column or key that --center names although it has no numbers.
func notCentered(c *Column) error {
	return fmt.Errorf("%q (--center) is %s: only numbers are centered", c.Name, c.Kind)
}

// countWords counts the words of the columns of text in all rows of the head.
func (p *csvPlanner) countWords(h headRows, columns []Column, header bool) error {
	counts := map[int]*wordCounts{}
	for i, c := range columns {
		if c.Kind == Text {
			counts[i] = new(wordCounts)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	if p.partial {
		return errPlanLater
	}
	h.cells, h.buf = nil, nil
	row, _ := h.first() // it was read before
	if header {
		row = h.next()
	}
	for ; row != nil; row = h.next() {
		for i, w := range counts {
			if i < len(row) {
				w.add([]byte(row[i]))
			}
		}
	}
	for i, w := range counts {
		w.keep(&columns[i])
	}
	return nil
}

// planOf returns the plan of a file with exactly these columns.
func (p *csvPlanner) planOf(columns []Column) *csvPlan {
	plan := &csvPlan{sorted: true}
	top := int64(-1)
	for _, c := range columns {
		col := csvColumn{
			name: c.Name, kind: c.Kind, parts: p.parts[c.Name], prefix: []byte(c.Name + "="), notation: c.notation(),
			center: c.Center, order: c.DateOrder, year: yearOf(c.Center), named: p.named[c.Name],
		}
		if c.Kind == Text {
			col.prefix, col.weight, col.rare = []byte(c.Name+"#"), p.weights[c.Name], p.rare[c.Name]
		}
		for _, f := range col.parts {
			plan.sorted = plan.sorted && int64(f) > top
			top = int64(f)
		}
		if c.Kind == Numeric {
			col.feature = col.parts[0]
		}
		plan.direct += uint32(len(col.parts))
		plan.columns = append(plan.columns, col)
		plan.labeled = plan.labeled || c.Kind == LabelKind
	}
	return plan
}

// match plans a file whose columns were determined before.
func (p *csvPlanner) match(first, second []string) (*csvPlan, error) {
	header := p.opt.Header == HeaderYes
	if p.opt.Header == HeaderAuto {
		header = p.isHeader(first, second)
	}
	var plan *csvPlan
	var err error
	if err := p.checkLabelName(); err != nil {
		return nil, err
	}
	if header && p.header {
		plan, err = p.matchNames(first)
	} else {
		plan, err = p.matchPositions(len(first))
	}
	if err == nil && p.opt.reading() != nil {
		err = p.checkRoles(plan)
	}
	if err == nil && header {
		plan.skip = 1
	}
	return plan, err
}

// checkLabelName returns an error if the named label column is a feature of the model.
func (p *csvPlanner) checkLabelName() error {
	for _, c := range p.columns {
		if c.Name == p.opt.LabelColumn && c.Kind != LabelKind {
			return fmt.Errorf("column %q is %s in the model, it cannot be the label", c.Name, c.Kind)
		}
	}
	return nil
}

// checkRoles returns an error if an option gives a column another role than the model does.
func (p *csvPlanner) checkRoles(plan *csvPlan) error {
	columns := make([]Column, len(plan.columns))
	for i, c := range plan.columns {
		columns[i] = Column{Name: c.name, Kind: c.kind}
	}
	check := func(ref string, kind ColumnKind) error {
		i, err := findColumn(columns, ref, string(kind))
		if err == nil && columns[i].Kind != kind {
			err = fmt.Errorf("column %q is %s in the model, it cannot be %s", columns[i].Name, columns[i].Kind, kind)
		}
		return err
	}
	if ref := p.opt.LabelColumn; ref != "" && plan.labeled {
		if err := check(ref, LabelKind); err != nil {
			return err
		}
	}
	if ref := p.opt.WeightColumn; ref != "" && !p.opt.AllowNoLabel {
		if err := check(ref, WeightKind); err != nil {
			return err
		}
	}
	for _, ref := range p.opt.Categorical {
		if err := check(ref, Categorical); err != nil {
			return err
		}
	}
	for _, ref := range p.opt.IgnoreColumns {
		if i, err := findColumn(columns, ref, ""); err != nil || columns[i].Kind == Ignored {
			continue
		}
		if err := check(ref, Ignored); err != nil {
			return err
		}
	}
	return nil
}

// isHeader reports whether the first row of a file with known columns is a header. If the column
// names did not come from a header, no row is one: a row of words may be data.
func (p *csvPlanner) isHeader(first, second []string) bool {
	if !p.header {
		return false
	}
	if p.namesAllFeatures(first) {
		return true
	}
	columns := p.columnsOf(len(first))
	if columns == nil {
		return looksLikeHeader(first, second, -1) // neither fits; this selects the error
	}
	for i, c := range columns {
		cell := []byte(first[i])
		if len(c.parts()) > 0 && !looksLikeValue(first[i]) && !missingNumber(cell, p.opt.MissingValues) &&
			!isNonFinite(cell) {
			return true
		}
	}
	return false
}

// columnName is the name of column i, by its cell of a header.
func columnName(cell string, i int) string {
	if cell == "" {
		return "c" + strconv.Itoa(i+1)
	}
	return cell
}

// namesAllFeatures reports whether a row contains the names of all columns that are features.
func (p *csvPlanner) namesAllFeatures(row []string) bool {
	if !p.header {
		return false
	}
	have := map[string]bool{}
	for i, name := range row {
		have[columnName(name, i)] = true
	}
	for _, c := range p.columns {
		if (len(c.parts()) > 0 || c.Kind == Categorical || c.Kind == Text) && !have[c.Name] {
			return false
		}
	}
	return true
}

// matchNames finds the columns by the names in a header.
func (p *csvPlanner) matchNames(row []string) (*csvPlan, error) {
	byName := map[string]Column{}
	for _, c := range p.columns {
		if c.Kind == LabelKind && p.opt.LabelColumn != "" && !isNumber(p.opt.LabelColumn) &&
			p.opt.LabelColumn != "last" {
			c.Name = p.opt.LabelColumn
		}
		byName[c.Name] = c
	}
	found := map[string]bool{}
	var columns []Column
	unseen := map[string]bool{}
	for i, cell := range row {
		name := columnName(cell, i)
		c, ok := byName[name]
		wanted := !ok && slices.Contains(p.opt.IgnoreColumns, name)
		if found[name] && c.Kind != Ignored && !wanted {
			return nil, fmt.Errorf("two columns are named %q: the names must differ", name)
		}
		found[name] = true
		if !ok {
			if p.opt.Unseen == UnseenError && !wanted {
				switch {
				case p.opt.reading() == nil:
					return nil, fmt.Errorf("the first input has no column %q: give all inputs the same columns", name)
				case p.opt.Schema == nil:
					return nil, fmt.Errorf("column %q is not a column of the training data; leave it out "+
						"(--ignore-columns)", name)
				}
				return nil, fmt.Errorf("column %q is not a column of the training data; --unseen ignore drops it", name)
			}
			c = Column{Name: name, Kind: Ignored}
			unseen[name] = !wanted
		}
		columns = append(columns, c)
	}
	for _, c := range p.columns {
		name := c.Name
		if c.Kind == LabelKind && p.opt.LabelColumn != "" && byName[p.opt.LabelColumn].Kind == LabelKind {
			name = p.opt.LabelColumn
		}
		optional := c.Kind == Ignored || p.opt.AllowNoLabel && (c.Kind == LabelKind || c.Kind == WeightKind)
		if !found[name] && !optional {
			return nil, fmt.Errorf("the %s column %q is missing", c.Kind, name)
		}
	}
	plan := p.planOf(columns)
	for i := range plan.columns {
		plan.columns[i].unseen = unseen[plan.columns[i].name]
	}
	return plan, nil
}

// matchPositions takes the columns in order. The label may be absent if none is needed.
func (p *csvPlanner) matchPositions(cells int) (*csvPlan, error) {
	columns := p.columnsOf(cells)
	if columns == nil {
		return nil, fmt.Errorf("%d cells in the first row for %d columns", cells, len(p.columns))
	}
	return p.planOf(columns), nil
}

// columnsOf returns the columns of a row with the given number of cells. It leaves out the label if
// none is needed and the row is one cell short. It returns nil if the number does not fit.
func (p *csvPlanner) columnsOf(cells int) []Column {
	if cells == len(p.columns)-1 && p.opt.AllowNoLabel {
		return slices.DeleteFunc(slices.Clone(p.columns), func(c Column) bool { return c.Kind == LabelKind })
	}
	if cells != len(p.columns) {
		return nil
	}
	return p.columns
}
