// A line without axes: how much, minute by minute. What it shows stands beside it as a number and in its label.

interface SparkProps {
  values: readonly number[]
  label: string
  width?: number
  height?: number
}

export function Spark({ values, label, width = 120, height = 26 }: SparkProps) {
  const max = Math.max(1, ...values)
  const points = values.map((value, at) => {
    const x = (at / Math.max(1, values.length - 1)) * width
    const y = height - 1 - (value / max) * (height - 3)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polygon
        points={[`0,${height}`, ...points, `${width},${height}`].join(' ')}
        fill="var(--accent)"
        opacity="0.12"
      />
      <polyline points={points.join(' ')} fill="none" stroke="var(--accent)" strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  )
}
