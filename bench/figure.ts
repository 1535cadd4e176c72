import { median, overOf, type Pair, p95, ratioOf, type Samples } from './measure.ts';

/** One line of the table. Numbers are medians unless the name says otherwise. */
export interface Row {
  name: string;
  unit: string;
  value: number;
  p95?: number;
  /** Time or size of the same work without Squad, measured in the same run. */
  floor?: number;
  /** Ratio to the floor, and difference to it: medians over the pairs. */
  ratio?: number;
  over?: number;
  target?: string;
  met?: boolean;
  /** Explains the number if its name is not enough. */
  note?: string;
  samples?: Samples;
  floorSamples?: Samples;
}

export interface Figure {
  name: string;
  title: string;
  measure(): Promise<Row[]>;
}

interface Told {
  target?: string;
  isMet?(row: Row): boolean;
  note?: string;
}

export function single(name: string, unit: string, value: number, told: Told = {}): Row {
  return judged({ name, unit, value }, told);
}

export function sampled(name: string, unit: string, samples: Samples, told: Told = {}): Row {
  return judged({ name, unit, value: median(samples), p95: p95(samples, bestOf(unit)), samples }, told);
}

export function paired(name: string, unit: string, pair: Pair, told: Told = {}): Row {
  const { ours, floor } = pair;
  return judged(
    {
      name,
      unit,
      value: median(ours),
      p95: p95(ours, bestOf(unit)),
      floor: median(floor),
      ratio: ratioOf(pair),
      over: overOf(pair),
      samples: ours,
      floorSamples: floor,
    },
    told,
  );
}

/** A higher rate is better. For all other units a lower value is better. */
const bestOf = (unit: string) => (unit.endsWith('/s') ? 'high' : 'low');

function judged(row: Row, { target, isMet, note }: Told): Row {
  return { ...row, ...(target && { target }), ...(isMet && { met: isMet(row) }), ...(note && { note }) };
}
