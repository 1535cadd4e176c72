import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long for their length: their tests repeat what they do, start slow programs, or wait for time limits. */
const SHORT_AND_SLOW =
  /\/test\/(faults\/(gateway|faults|abandoned|sandbox-deaths)|conformance\/\w+|e2e\/(setup\/(newcomer|doctor-policy)|machines\/takeover)|web\/(docs-site|machines)|engines\/squad-(two-way|waits|sandbox|failures)\.engine)\.test\.ts$/;

/** Vitest starts the longest files of a project first. A slow file at the end would leave a processor without work. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...projects.values()].flatMap(ofProject => {
      const slow = ofProject.filter(({ moduleId }) => SHORT_AND_SLOW.test(moduleId));
      return [...slow, ...ofProject.filter(file => !slow.includes(file))];
    });
  }
}
