import { createCatalog, type Catalog } from '../../src/models/catalog.ts'
import { parseModels } from '../../src/provider-config/parse-models.ts'
import { referenceModels } from '../../src/provider-config/reference-models.ts'

/** The models of the reference with changes and additions, as a providers file makes them. */
export const configuredModels = (changes: Record<string, unknown> = {}) => {
  const { models, problems } = parseModels(referenceModels, changes, ['local'])
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return models
}

export const referenceCatalog = (changes: Record<string, unknown> = {}): Catalog => {
  const models = configuredModels(changes)
  return createCatalog(() => models)
}
