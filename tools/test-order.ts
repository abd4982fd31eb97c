/**
 * The order in which test files start. Files that take minutes start first, so that they do not run alone at the end;
 * then the files of one project after another, so that a worker need not load its modules again.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest first. */
export const slow = [
  'gateway/test/journeys/transcription-tasks.test.ts',
  'cli/test/openai-package.test.ts',
  'cli/test/snippets.test.ts',
  'gateway/test/journeys/remix-and-characters.test.ts',
  'bench/operation-costs.test.ts',
  'cli/test/doctor.test.ts',
  'gateway/test/operations/transcription-tasks.test.ts',
  'cli/test/backup.test.ts',
  'gateway/test/operations/complete-chat-audio.test.ts',
  'gateway/test/faults/faults.test.ts',
]

const rank = ({ moduleId }: TestSpecification): number => {
  const index = slow.findIndex((path) => moduleId.endsWith(path))
  return index === -1 ? slow.length : index
}

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of the same name
    const largestFirst = await super.sort(files)
    const projects = [...new Set(largestFirst.map(({ project }) => project.name))]
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder
    return largestFirst.toSorted(
      (a, b) =>
        group(a) - group(b) ||
        rank(a) - rank(b) ||
        projects.indexOf(a.project.name) - projects.indexOf(b.project.name),
    )
  }
}
