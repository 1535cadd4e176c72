import { expect, test } from 'vitest';
import { createStyle, ROLE_COLORS } from './style.ts';

test('without colour there are no codes at all', () => {
  const style = createStyle(false);
  const words = [
    style.bold('a'),
    style.dim('b'),
    style.red('c'),
    style.green('d'),
    style.yellow('e'),
    style.role('f'),
  ];
  expect(words.join('')).toBe('abcdef');
});

test('a role has one colour, on every machine', () => {
  const style = createStyle(true);
  expect(style.role('architect')).toBe('\u001b[38;5;30marchitect\u001b[39m');
  expect(style.role('architect', 'x')).toBe('\u001b[38;5;30mx\u001b[39m');
});

test('the shipped roles have different colours', () => {
  const style = createStyle(true);
  const roles = [
    'frontend-developer',
    'backend-developer',
    'qa-engineer',
    'architect',
    'planner',
    'coder',
    'reviewer',
  ];
  const colors = new Set(roles.map(role => style.role(role, 'x')));
  expect(colors.size).toBeGreaterThanOrEqual(6);
});

test('every role colour is readable on black and on white', () => {
  for (const color of ROLE_COLORS) {
    const light = luminance(color);
    expect(Math.min(1.05 / (light + 0.05), (light + 0.05) / 0.05), `colour ${color}`).toBeGreaterThan(3.5);
  }
});

/** Relative luminance of a colour of the 6×6×6 cube. */
function luminance(color: number): number {
  const steps = [0, 95, 135, 175, 215, 255];
  const channel = (index: number) => {
    const value = (steps[index % 6] ?? 0) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const place = color - 16;
  return (
    0.2126 * channel(Math.floor(place / 36)) +
    0.7152 * channel(Math.floor(place / 6)) +
    0.0722 * channel(place)
  );
}
