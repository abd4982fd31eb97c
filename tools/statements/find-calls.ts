/** Finds the calls in gateway/src that execute SQL, and reads their row types with the API of the compiler. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

import {
  isCallExpression,
  isIdentifier,
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isStringLiteral,
  type CallExpression,
  type Node,
  type SourceFile,
} from 'typescript/unstable/ast'
import {
  API,
  SymbolFlags,
  type Checker,
  type Symbol as CompilerSymbol,
  type Type,
} from 'typescript/unstable/sync'

/** What a value may be after `pg` has parsed it. */
export type Kind = 'string' | 'number' | 'boolean' | 'Date' | 'Buffer' | [Kind]

export interface Property {
  name: string
  declared: string
  isOptional: boolean
  isNullable: boolean
  /** True if values of this kind fit the declared type, or if the declared type is a narrower one. */
  mayBe: (kind: Kind) => boolean
}

export interface Row {
  properties: Property[]
  /** False if a type parameter may have further properties. */
  isWhole: boolean
}

export interface Call {
  /** The file and the line, as in a stack. */
  place: string
  /** The statement, if it is a literal. */
  text: string | undefined
  /** Undefined without a row type. */
  row: Row | undefined
}

export interface Calls extends Disposable {
  calls: Call[]
}

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Declares `Database`. Its own statements begin and end transactions, and take locks. */
const port = `${root}gateway/src/platform/postgres.ts`

const findQueries = (node: Node, found: CallExpression[] = []): CallExpression[] => {
  if (
    isCallExpression(node) &&
    isPropertyAccessExpression(node.expression) &&
    node.expression.name.text === 'query'
  ) {
    found.push(node)
  }
  node.forEachChild((child) => void findQueries(child, found))
  return found
}

const nameOf = (call: CallExpression): Node => {
  if (!isPropertyAccessExpression(call.expression)) throw new Error('not a method')
  return call.expression.name
}

const isSql = (checker: Checker, call: CallExpression): boolean =>
  checker.getSymbolAtLocation(nameOf(call))?.declarations.some(({ path: file }) => file === port) === true

/** True for functions that pass on the statement of their caller. */
const isForwarded = (call: CallExpression): boolean => {
  const [statement] = call.arguments
  return (
    statement === undefined ||
    isObjectLiteralExpression(statement) ||
    (isIdentifier(statement) && statement.text === 'text')
  )
}

const kindReader = (checker: Checker) => {
  const declared = (name: string): Type => {
    const symbol = checker.resolveName(name, SymbolFlags.Type)
    if (symbol === undefined) throw new Error(`no type ${name}`)
    return checker.getDeclaredTypeOfSymbol(symbol)
  }
  const types = {
    string: checker.getStringType(),
    number: checker.getNumberType(),
    boolean: checker.getBooleanType(),
    Date: declared('Date'),
    Buffer: declared('Buffer'),
  }
  const mayBe = (type: Type, kind: Kind): boolean => {
    if (typeof kind === 'string') {
      const expected = types[kind]
      return checker.isTypeAssignableTo(type, expected) || checker.isTypeAssignableTo(expected, type)
    }
    if (!checker.isArrayType(type) || !type.isTypeReference()) return false
    const [element] = checker.getTypeArguments(type)
    return element !== undefined && mayBe(element, kind[0])
  }
  return mayBe
}

export const findCalls = (): Calls => {
  const api = new API({ cwd: root })
  const [project] = api.updateSnapshot({ openProjects: [`${root}tsconfig.json`] }).getProjects()
  if (project === undefined) throw new Error('no project')
  const { checker, program } = project
  const mayBe = kindReader(checker)

  const readProperty = (symbol: CompilerSymbol): Property => {
    const type = checker.getTypeOfSymbol(symbol)
    if (type === undefined) throw new Error(`no type of ${symbol.name}`)
    const value = checker.getNonNullableType(type) ?? type
    return {
      name: symbol.name,
      declared: checker.typeToString(type),
      isOptional: (symbol.flags & SymbolFlags.Optional) !== 0,
      isNullable: checker.isTypeAssignableTo(checker.getNullType(), type),
      mayBe: (kind) => mayBe(value, kind),
    }
  }

  const readRow = (call: CallExpression): Row | undefined => {
    const [node] = call.typeArguments ?? []
    const type = node === undefined ? undefined : checker.getTypeFromTypeNode(node)
    if (type === undefined) return undefined
    const parts = type.isIntersectionType() ? type.getTypes() : [type]
    return {
      properties: checker.getPropertiesOfType(type).map(readProperty),
      isWhole: !parts.some((part) => part.isTypeParameter()),
    }
  }

  const readCalls = (file: SourceFile): Call[] =>
    findQueries(file)
      .filter((call) => isSql(checker, call) && !isForwarded(call))
      .map((call) => {
        const [statement] = call.arguments
        const { line } = file.getLineAndCharacterOfPosition(nameOf(call).getStart())
        return {
          place: `${path.relative(root, file.fileName)}:${line + 1}`,
          text:
            statement !== undefined &&
            (isStringLiteral(statement) || isNoSubstitutionTemplateLiteral(statement))
              ? statement.text
              : undefined,
          row: readRow(call),
        }
      })

  const calls = program
    .getSourceFileNames()
    .filter((name) => name.startsWith(`${root}gateway/src/`) && !name.endsWith('.test.ts') && name !== port)
    .filter((name) => readFileSync(name, 'utf8').includes('.query'))
    .flatMap((name) => {
      const file = program.getSourceFile(name)
      return file === undefined ? [] : readCalls(file)
    })
  return { calls, [Symbol.dispose]: () => api.close() }
}
