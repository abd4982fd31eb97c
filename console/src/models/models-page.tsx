/** The models and their routes: all of them, or one of them with `id`. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'

import { useTexts } from '../i18n/texts.ts'
import { providersQuery, protocolsQuery } from '../providers/provider-data.ts'
import { hasRole, useSession } from '../session/session.ts'
import { Page } from '../shell/page.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Note, Skeleton } from '../ui/feedback.tsx'
import { AddModelSheet } from './add-model-sheet.tsx'
import { kindsQuery, listRows, modelsQuery, pricesQuery, usageQuery } from './model-data.ts'
import { ModelDetail } from './model-detail.tsx'
import { ModelList } from './model-list.tsx'
import { modelTexts } from './texts.ts'

const ModelsOverview = ({ isAdding }: { isAdding: boolean }) => {
  const texts = useTexts(modelTexts)
  const mayChange = hasRole(useSession(), 'admin')
  const navigate = useNavigate()
  const models = useQuery(modelsQuery)
  const prices = useQuery(pricesQuery)
  const providers = useQuery(providersQuery)
  const kinds = useQuery(kindsQuery)
  const protocols = useQuery(protocolsQuery)
  const usage = useQuery(usageQuery)
  const failed = [models, prices, providers].find(({ error }) => error !== null)
  const isReady = models.data !== undefined && prices.data !== undefined && providers.data !== undefined
  return (
    <Page
      title={texts.title}
      actions={
        mayChange && (
          <Button
            variant="primary"
            icon={<Plus />}
            onPress={() => void navigate({ to: '/models', search: { new: '1' } })}
          >
            {texts.add}
          </Button>
        )
      }
    >
      {failed !== undefined && <ErrorPanel error={failed.error} onRetry={() => void failed.refetch()} />}
      {!mayChange && <Note kind="plain">{texts.readOnly}</Note>}
      {!isReady && failed === undefined && <Skeleton height={640} />}
      {isReady && (
        <ModelList
          rows={listRows({
            ...{ models: models.data, prices: prices.data, providers: providers.data, usage: usage.data },
          })}
        />
      )}
      {isReady && mayChange && isAdding && kinds.data !== undefined && protocols.data !== undefined && (
        <AddModelSheet
          names={models.data.map(({ id }) => id)}
          providers={providers.data}
          protocols={protocols.data}
          kinds={kinds.data}
          onClose={(id) => void navigate({ to: '/models', search: id === undefined ? {} : { id } })}
        />
      )}
    </Page>
  )
}

export const ModelsPage = () => {
  const { id, new: adding } = useSearch({ from: '/shell/models' })
  return id === undefined ? (
    <ModelsOverview isAdding={adding !== undefined} />
  ) : (
    <ModelDetail key={id} id={id} />
  )
}
