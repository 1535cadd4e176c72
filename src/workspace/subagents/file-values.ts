import { readTextFile } from '../files/text-file.ts';
import type { Findings } from './findings.ts';
import { readYaml } from './yaml-source.ts';

/** What stands in the file, whose places the findings know from now on; null, and said, when nothing can be read from it. */
export async function fileValues(file: string, findings: Findings): Promise<Record<string, unknown> | null> {
  const refuse = (message: string, suggestion?: string) => {
    findings.error([], message, { suggestion });
    return null;
  };
  const read = await readTextFile(file);
  if ('missing' in read)
    return refuse('there is no such file', 'A new one is made by: squad init --subagent NAME');
  if ('fault' in read) return refuse(`this ${read.fault}`, 'Give the path of a YAML file.');
  const source = await readYaml(read.text);
  if ('faults' in source) {
    for (const { place, message } of source.faults) findings.add('error', [], message, {}, place);
    return null;
  }
  findings.place = source.place;
  for (const { place, message } of source.warnings) findings.add('warning', [], message, {}, place);
  const { value } = source;
  if (value === undefined || value === null)
    return refuse('the file is empty', 'A new one is made by: squad init --subagent NAME');
  if (typeof value !== 'object' || Array.isArray(value))
    return refuse('the file is not a list of "key: value" lines');
  return value as Record<string, unknown>;
}
