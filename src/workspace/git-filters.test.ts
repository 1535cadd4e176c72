import { expect, test } from 'vitest';
import { filterNames, listedFilterNames, withoutFilters } from './git-filters.ts';

test('finds every way to write a filter, wherever it stands', () => {
  const config =
    '[core] a = 1 [filter "One"] clean = x\n[FILTER "t\\"w\\\\o"]\n [filter.Three] clean=x\n;[filter "four"]\n';
  expect(filterNames([config, '[filter "One"]'])).toEqual(['One', 't"w\\o', 'three', 'four']);
  expect(filterNames(['[core]\nfilter = x', ''])).toEqual([]);
});

test('leaves it to git when other files are taken in', () => {
  expect(filterNames(['[filter "one"]', '[includeIf "gitdir:~/x"]\npath = y'])).toBe('ask');
  expect(
    listedFilterNames('core.bare\0filter.a.b.clean\0filter.a.b.smudge\0filter.x\0filter.lfs.process\0'),
  ).toEqual(['a.b', 'lfs']);
});

test('switches each off, or says that it cannot', () => {
  expect(withoutFilters(['lfs'])).toContain('filter.lfs.process=');
  expect(withoutFilters([])).toEqual([]);
  for (const name of ['a=b', 'a\nb', 'a\uFFFD']) expect(withoutFilters(['lfs', name])).toBeNull();
});
