export interface Trend {
  slope: number;
  /** Standard error of the slope. */
  error: number;
}

/** Least squares through points. */
export function trendOf(points: readonly { x: number; y: number }[]): Trend {
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [middleX, middleY] = [mean(({ x }) => x), mean(({ y }) => y)];
  const spread = points.reduce((sum, { x }) => sum + (x - middleX) ** 2, 0);
  const slope = points.reduce((sum, { x, y }) => sum + (x - middleX) * (y - middleY), 0) / spread;
  const rest = points.reduce((sum, { x, y }) => sum + (y - middleY - slope * (x - middleX)) ** 2, 0);
  return { slope, error: Math.sqrt(rest / (points.length - 2) / spread) };
}
