/** Fields and query parameters that several operations share. */
import { Type, type TProperties, type TSchema } from 'typebox'

/** A schema or null. The description moves to the union, where OpenAPI readers look for it. */
export const Nullable = <Schema extends TSchema>(schema: Schema) => {
  const { description } = schema as { description?: string }
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
}

export const optionals = <Properties extends TProperties>(properties: Properties) =>
  Type.Partial(Type.Object(properties))

export const ObjectType = <Name extends string>(name: Name) =>
  Type.Literal(name, { description: `The type of this object: always \`${name}\`.` })

export const timeMax = 253_402_300_799

export const Time = (description: string) =>
  Type.Integer({
    minimum: 0,
    maximum: timeMax,
    format: 'unix-time',
    description: `${description} Unix time in seconds.`,
  })

export const Deleted = Type.Literal(true, { description: 'Always `true`.' })

/** Why a task failed. */
export const taskErrorFields = {
  code: Type.String({ description: 'Why the task failed, as an error code for programs.' }),
  message: Type.String({ description: 'Why the task failed, as a sentence for people.' }),
}

export const taskId = { id: Type.String({ description: 'Id of the task.' }) }

/** A value that can have several forms. The endpoint parses it; the parameter reader only checks its presence. */
export const ReadByEndpoint = (schema: object) =>
  Type.Unsafe<unknown>({ ...schema, 'x-read-by-endpoint': true })

export const ModelId = Type.String({ description: 'Id of the model to use, as listed by `GET /v1/models`.' })

export const TaskId = Type.String({ description: 'Id of the task.' })

export const Progress = Type.Integer({ minimum: 0, maximum: 100, description: 'Progress in percent.' })

/** The query of a public list. */
export const listQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Maximum number of items to return.',
  }),
  after: Type.String({
    description: 'Return the items that follow this id. Use the `last_id` of the previous page.',
  }),
  order: Type.String({
    enum: ['asc', 'desc'],
    default: 'desc',
    description: 'Sort by creation time: oldest first (`asc`) or newest first (`desc`).',
  }),
}

const pageIds = {
  last_id: Nullable(
    Type.String({ description: 'Id of the last item on this page; null if the page is empty.' }),
  ),
  has_more: Type.Boolean({ description: 'Whether more items follow this page.' }),
}

/** The envelope of a public list. */
export const listFields = <Item extends TSchema>(item: Item, description: string) => ({
  object: ObjectType('list'),
  data: Type.Array(item, { description }),
  ...pageIds,
})

export const FirstId = Nullable(
  Type.String({ description: 'Id of the first item on this page; null if the page is empty.' }),
)

/** A period of time in a query. */
export const periodQuery = {
  from: Time('Start of the period, inclusive.'),
  to: Time('End of the period, exclusive.'),
}

/** A page of an admin list or of usage rows. */
export const Page = <Schema extends TSchema>(item: Schema) =>
  Type.Object({
    object: ObjectType('list'),
    data: Type.Array(item, { description: 'The items on this page.' }),
    next: Nullable(
      Type.String({
        description: 'Cursor of the next page: send it as `cursor`. Null on the last page.',
      }),
    ),
  })

export const ResourceId = (resource: string) => ({
  id: Type.String({ description: `Id of the ${resource}.` }),
})

/** The query of a list with cursors. */
export const pageQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: 200,
    default: 50,
    description: 'Maximum number of items to return.',
  }),
  cursor: Type.String({
    maxLength: 400,
    description: 'Cursor of the page: the `next` of the previous page.',
  }),
}

export const DeletedResource = (resource: string) =>
  Type.Object({ id: Type.String({ description: `Id of the deleted ${resource}.` }), deleted: Deleted })
