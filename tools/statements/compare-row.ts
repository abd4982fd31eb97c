import type { Column } from './describe-statement.ts'
import type { Kind, Row } from './find-calls.ts'

const nameKind = (kind: Kind): string => (typeof kind === 'string' ? kind : `${nameKind(kind[0])}[]`)

/** The differences between the row type of a call and the columns that its statement returns. */
export const compareRow = ({ properties, isWhole }: Row, columns: Column[]): string[] => [
  ...properties.flatMap(({ name, declared, isOptional, isNullable, mayBe }): string[] => {
    const column = columns.find((each) => each.name === name)
    if (column === undefined) {
      const returned = columns.map((each) => each.name).join(', ') || 'nothing'
      return isOptional
        ? []
        : [`the row type has ${name}, but the statement returns ${returned}: rename one of them`]
    }
    const { kind, type, nullable } = column
    if (kind !== undefined && !mayBe(kind))
      return [`${name} is ${type}, which is read as ${nameKind(kind)}: do not declare it as ${declared}`]
    return nullable === undefined || isNullable
      ? []
      : [`${name} may be null (${nullable}): declare ${declared} | null, or add "and … is not null"`]
  }),
  ...columns
    .filter(({ name, type }) => isWhole && type !== 'void' && properties.every((each) => each.name !== name))
    .map(
      ({ name }) =>
        `the statement returns ${name}, which the row type lacks: declare it, or do not select it`,
    ),
]
