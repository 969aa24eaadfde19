package dashboard

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"gonum.org/v1/plot"

	"github.com/noregret/noregret/api"
)

// The axes of pictures.
const (
	axisTime     = "time"
	axisVersions = "version"
)

// axisOf returns the axis that a request asks for.
func axisOf(r *http.Request) string {
	if r.URL.Query().Get("axis") == axisVersions {
		return axisVersions
	}
	return axisTime
}

// label is the name of the axis.
func (f frame) label() string {
	if f.versions {
		return "policy version"
	}
	return "time (UTC)"
}

// at returns the position of a version's beginning on the axis.
func (f frame) at(h *api.HistoryPoint) float64 {
	if f.versions {
		return float64(h.Version)
	}
	return float64(h.Time.UnixNano()) / 1e9
}

// axis sets the range and the ticks of the axis, and returns its end. A version lasts until the
// next one, the last one until now.
func (f frame) axis(p *plot.Plot, r *api.Report) (end float64) {
	first := f.at(&r.History[0])
	if f.versions {
		end = float64(r.Version) + 1
		p.X.Tick.Marker = plot.TickerFunc(versionTicks)
	} else {
		last := f.at(&r.History[len(r.History)-1])
		end = max(float64(r.Time.UnixNano())/1e9, last+max((last-first)/float64(4*len(r.History)), 1))
		most := 5
		if f.narrow {
			most = 3
		}
		p.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick { return timeTicks(low, high, most) })
	}
	p.X.Min, p.X.Max = first, end
	return end
}

func versionTicks(low, high float64) (ticks []plot.Tick) {
	every := math.Pow(10, math.Floor(math.Log10(max(high-low, 1))))
	if (high-low)/every < 3 {
		every /= 5
	} else if (high-low)/every < 6 {
		every /= 2
	}
	every = max(math.Floor(every), 1)
	for v := math.Ceil(low/every) * every; v <= high; v += every {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return ticks
}

// intervals are the possible distances between ticks of a time axis, in seconds.
var intervals = []float64{
	1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400,
	7 * 86400, 14 * 86400, 28 * 86400, 91 * 86400, 182 * 86400, 364 * 86400, 5 * 364 * 86400,
}

// timeTicks returns ticks at round times. It returns at most most+1 of them unless every interval
// is too short for that.
func timeTicks(low, high float64, most int) (ticks []plot.Tick) {
	every := intervals[len(intervals)-1]
	for _, d := range intervals {
		if (high-low)/d <= float64(most) {
			every = d
			break
		}
	}
	form := "15:04:05"
	switch {
	case every >= 364*86400:
		form = "2006"
	case every >= 86400:
		form = "Jan 2"
	case high-low > 86400:
		form = "Jan 2 15:04"
	case every >= 60:
		form = "15:04"
	}
	for v := math.Ceil(low/every) * every; v <= high; v += every {
		ticks = append(ticks, plot.Tick{Value: v, Label: time.Unix(int64(v), 0).UTC().Format(form)})
	}
	return ticks
}
