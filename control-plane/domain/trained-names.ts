/** A trained model's deployments are named by its version, so that every row of usage says which one answered. */
export function deploymentName({ modelId, version, node }: { modelId: string; version: number; node: number }): string {
  return node === 0 ? `${modelId}@${version}` : `${modelId}@${version}.${node}`;
}

/** The model whose prices a deployment has: of a trained model's deployment the model, else the deployment itself. */
export function pricedModelOf(deploymentId: string): string {
  return deploymentId.split("@", 1)[0] ?? deploymentId;
}
