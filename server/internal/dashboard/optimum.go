package dashboard

import (
	"sync"

	"github.com/noregret/noregret/api"
)

// optimumCache caches the value of each experiment's best mixture, which is costly to compute,
// until the experiment has a new version.
type optimumCache struct {
	mu sync.Mutex
	by map[string]cachedOptimum
}

type cachedOptimum struct {
	version uint64
	created int64
	value   *float64
}

// value returns the value of the best mixture by the present estimates, nil if there is none.
func (o *optimumCache) value(source Source, r *api.Report) (*float64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if old, ok := o.by[r.Name]; ok && old.version == r.Version && old.created == r.Created.UnixNano() {
		return old.value, nil
	}
	best, err := source.Optimum(r.Name)
	if err != nil {
		return nil, err
	}
	var v *float64
	if best != nil {
		v = &best.Value
	}
	if o.by == nil {
		o.by = map[string]cachedOptimum{}
	}
	o.by[r.Name] = cachedOptimum{r.Version, r.Created.UnixNano(), v}
	return v, nil
}
