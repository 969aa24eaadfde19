package regret

import "github.com/noregret/noregret/loss"

// moments are Σzzᵀ, Σyz and Σy² of squared losses ½(⟨z, x⟩ − y)², n values to a z.
type moments struct {
	n      int
	matrix []total // Σzzᵀ, the lower triangle row by row
	vector []total // Σyz
	square total   // Σy²
}

func newMoments(n int) moments {
	return moments{n: n, matrix: make([]total, n*(n+1)/2), vector: make([]total, n)}
}

// grow adds coordinates up to n in number, in which all z so far are 0.
func (m *moments) grow(n int) {
	for m.n < n {
		m.matrix = append(m.matrix, make([]total, m.n+1)...)
		m.vector = append(m.vector, total{})
		m.n++
	}
}

func (m *moments) add(z []float64, y float64) {
	k := 0
	for i, v := range z {
		for j := range i + 1 {
			m.matrix[k].addProduct(v, z[j])
			k++
		}
		m.vector[i].addProduct(y, v)
	}
	m.square.addProduct(y, y)
}

// addSparse is add for a z with few non-zeros, whose indices are below n.
func (m *moments) addSparse(z loss.Sparse, y float64) {
	for a, i := range z.Index {
		row := int(i) * (int(i) + 1) / 2
		for b, j := range z.Index[:a+1] {
			m.matrix[row+int(j)].addProduct(z.Value[a], z.Value[b])
		}
		m.vector[i].addProduct(y, z.Value[a])
	}
	m.square.addProduct(y, y)
}

func (m *moments) reset() {
	clear(m.matrix)
	clear(m.vector)
	m.square = total{}
}

// values writes Σzzᵀ, row by row, and Σyz.
func (m *moments) values(matrix, vector []float64) {
	k := 0
	for i := range m.n {
		for j := range i + 1 {
			matrix[i*m.n+j] = m.matrix[k].value()
			matrix[j*m.n+i] = matrix[i*m.n+j]
			k++
		}
		vector[i] = m.vector[i].value()
	}
}

// loss is ½Σy² − ⟨u, Σyz⟩ + ½uᵀ(Σzzᵀ)u, in twice the precision, as the terms may cancel.
func (m *moments) loss(u []float64) float64 {
	var twice total
	twice.add(m.square.S)
	twice.add(m.square.C)
	k := 0
	for i, v := range u {
		var row total // half of row i of the matrix times u, twice
		for j := range i + 1 {
			w := 2 * u[j]
			if j == i {
				w = u[i]
			}
			row.addScaled(w, m.matrix[k])
			k++
		}
		row.addScaled(-2, m.vector[i])
		twice.addScaled(v, row)
	}
	return max(twice.value()/2, 0)
}
