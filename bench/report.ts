import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Figure, Row } from './figure.ts';
import { RESULTS } from './temporary-folder.ts';

export interface Report {
  figure: string;
  rows: Row[];
  seconds: number;
  load: { before: number; after: number };
}

export const loadNow = (): number => Math.round(loadavg()[0]! * 100) / 100;

export function writeJson(report: Report): void {
  mkdirSync(RESULTS, { recursive: true });
  const machine = {
    at: new Date().toISOString(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryMb: Math.round(totalmem() / 1e6),
  };
  writeFileSync(
    join(RESULTS, `${report.figure}.json`),
    `${JSON.stringify({ machine, ...report }, null, 2)}\n`,
  );
}

const HEAD = ['', 'median', 'p95', 'floor', 'ratio', 'over', 'target', ''];
const FIRST_WORDS = HEAD.indexOf('target');

export function printTable({ title }: Figure, { rows, seconds, load }: Report): void {
  const cells = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...cells.map(row => row[column]!.length)));
  console.log(
    `\n${title}  (${seconds.toFixed(0)} s, load ${load.before.toFixed(1)} → ${load.after.toFixed(1)})`,
  );
  for (const row of cells)
    console.log(
      `  ${row.map((cell, i) => (i === 0 || i >= FIRST_WORDS ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`.trimEnd(),
    );
  for (const { name, note } of rows) if (note) console.log(`  · ${name}: ${note}`);
}

function cellsOf(row: Row): string[] {
  const shown = (value: number | undefined) => (value === undefined ? '' : `${figure(value)} ${row.unit}`);
  return [
    row.name,
    shown(row.value),
    shown(row.p95),
    shown(row.floor),
    row.ratio === undefined ? '' : `${row.ratio.toFixed(2)} ×`,
    row.unit === 'ms' ? shown(row.over) : '',
    row.target ?? '',
    row.met === undefined ? '' : row.met ? 'met' : 'MISSED',
  ];
}

const figure = (value: number): string =>
  value >= 1000 || Number.isInteger(value)
    ? Math.round(value).toLocaleString('en')
    : value.toFixed(value < 10 ? 2 : 1);
