import { withImageSizes } from "./image-sizes.ts";

const openai = { litellm_provider: "openai", mode: "image_generation" };

test("entries by size and quality are prices of the model, by the image or by the pixel", () => {
  const list = withImageSizes({
    "dall-e-3": { ...openai, input_cost_per_image: 0.04 },
    "standard/1024-x-1024/dall-e-3": { ...openai, input_cost_per_pixel: 3.81469e-8, output_cost_per_pixel: 0 },
    "hd/1024-x-1792/dall-e-3": { ...openai, input_cost_per_pixel: 6.539e-8, output_cost_per_pixel: 0 },
    "low/1024-x-1024/gpt-image-1": { ...openai, input_cost_per_image: 0.011, input_cost_per_pixel: 1.0490417e-8 },
    "256-x-256/dall-e-2": { ...openai, input_cost_per_pixel: 2.4414e-7 },
  });
  expect(list["dall-e-3"]).toEqual({
    ...openai,
    input_cost_per_image: 0.04,
    output_cost_per_image_by_size: { "standard/1024x1024": "0.040", "hd/1024x1792": "0.120" },
  });
  expect(list["gpt-image-1"]).toEqual({ ...openai, output_cost_per_image_by_size: { "low/1024x1024": "0.011" } });
  expect(list["dall-e-2"]).toEqual({ ...openai, output_cost_per_image_by_size: { "256x256": "0.016" } });
});

test("a model that the list has only by size costs what a request costs that names none", () => {
  const azure = { litellm_provider: "azure", mode: "image_generation" };
  const list = withImageSizes({
    "azure/hd/1024-x-1024/dall-e-3": { ...azure, input_cost_per_pixel: 7.629e-8 },
    "azure/standard/1024-x-1024/dall-e-3": { ...azure, input_cost_per_pixel: 3.81469e-8 },
    "azure/standard/1024-x-1024/dall-e-2": { ...azure, input_cost_per_pixel: 0 },
  });
  expect(list["azure/dall-e-3"]).toEqual({
    ...azure,
    output_cost_per_image: "0.040",
    output_cost_per_image_by_size: { "hd/1024x1024": "0.080", "standard/1024x1024": "0.040" },
  });
  expect(list["azure/dall-e-2"]).toBeUndefined();
});
