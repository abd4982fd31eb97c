/** One model: its routes, prices and names, and what would happen to a request. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Clapperboard, RotateCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { Prose } from '../schema-form/prose.tsx'
import { kinoraAdmin } from '../service.ts'
import { hasRole, hasScope, useSession } from '../session/session.ts'
import { Page } from '../shell/page.tsx'
import { ActionMenu } from '../ui/action-menu.tsx'
import { LinkButton } from '../ui/button.tsx'
import { ErrorPanel, Note, Skeleton } from '../ui/feedback.tsx'
import { Confirm } from '../ui/sheet.tsx'
import { Tag } from '../ui/status.tsx'
import { AliasesCard } from './aliases-card.tsx'
import { CapabilitiesCard } from './capabilities-card.tsx'
import { ExplainCard } from './explain-card.tsx'
import { LifeCard } from './life-card.tsx'
import { kindsQuery, modelsQuery } from './model-data.ts'
import { stateColors } from './model-list.tsx'
import { PricesCard } from './prices-card.tsx'
import { RoutesCard } from './routes-card.tsx'
import { modelTexts } from './texts.ts'
import { useChange } from './use-change.ts'

import styles from './model-detail.module.css'

export const ModelDetail = ({ id }: { id: string }) => {
  const texts = useTexts(modelTexts)
  const session = useSession()
  const navigate = useNavigate()
  const mayChange = hasRole(session, 'admin')
  const models = useQuery(modelsQuery)
  const kinds = useQuery(kindsQuery)
  const change = useChange()
  const [isAsking, setAsking] = useState(false)
  const model = models.data?.find((each) => each.id === id)
  const error = models.error ?? kinds.error
  // A model that is of the admin API alone is gone once it is deleted.
  const isOwn = model?.source === 'record' && model.changed.includes('kind')
  const question = isOwn ? texts.reset.confirmDelete : texts.reset.confirmReset
  const mayReset = mayChange && model !== undefined && model.source === 'record'
  return (
    <Page
      title={id}
      heading={
        <div className={styles['heading']}>
          <Link to="/models" className={styles['back'] ?? ''}>
            {texts.title}
          </Link>
          <span className="muted" aria-hidden>
            /
          </span>
          <h1>{id}</h1>
        </div>
      }
      actions={
        <>
          {mayReset && (
            <ActionMenu
              label={texts.reset.action}
              actions={[
                {
                  id: 'reset',
                  label: isOwn ? texts.reset.remove : texts.reset.action,
                  icon: isOwn ? <Trash2 /> : <RotateCcw />,
                  isDangerous: true,
                  onAction: () => setAsking(true),
                },
              ]}
            />
          )}
        </>
      }
    >
      {error !== null && <ErrorPanel error={error} onRetry={() => void models.refetch()} />}
      {!mayChange && <Note kind="plain">{texts.readOnly}</Note>}
      {models.isPending && error === null && <Skeleton height={640} />}
      {models.data !== undefined && model === undefined && (
        <Note kind="plain" actions={<LinkButton to="/models">{texts.showAll}</LinkButton>}>
          {texts.noMatch}
        </Note>
      )}
      {model !== undefined && (
        <>
          <div className="row wrap">
            <Tag color={stateColors[model.state]}>{texts.states[model.state]}</Tag>
            <Tag>{texts.kinds[model.kind]}</Tag>
            <Tag>{texts.sources[model.source]}</Tag>
            {model.kind === 'video' && model.state !== 'retired' && hasScope(session, 'create') && (
              <div className={styles['tools']}>
                <LinkButton to="/playground/video" search={{ model: id }} icon={<Clapperboard aria-hidden />}>
                  {texts.play}
                </LinkButton>
              </div>
            )}
          </div>
          {model.problem !== null && (
            <Note kind="danger">
              <Prose text={model.problem} />
            </Note>
          )}
          <div className={styles['columns']}>
            <div className={styles['column']}>
              <RoutesCard model={model} mayChange={mayChange} />
              <ExplainCard model={model} />
              <PricesCard model={model} />
            </div>
            <div className={styles['column']}>
              <LifeCard model={model} mayChange={mayChange} models={models.data ?? []} />
              <AliasesCard model={model} mayChange={mayChange} />
              <CapabilitiesCard
                model={model}
                mayChange={mayChange}
                kind={kinds.data?.find(({ kind }) => kind === model.kind)}
              />
            </div>
          </div>
        </>
      )}
      <Confirm
        isOpen={isAsking}
        question={question.question(id)}
        action={question.action}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={() =>
          change.mutate(
            async () => {
              const { source } = await kinoraAdmin.models.delete(id)
              if (source === null) await navigate({ to: '/models', search: {} })
            },
            { onSuccess: () => setAsking(false) },
          )
        }
        onClose={() => {
          change.reset()
          setAsking(false)
        }}
      >
        <p>{question.effect}</p>
      </Confirm>
    </Page>
  )
}
