#include "model/secret_key.h"

#include <gtest/gtest.h>

namespace headway {
namespace {

TEST(IsSecretKey, KnowsSecrets) {
  for (const char* key :
       {// Hugging Face, Weights & Biases, Comet, Neptune
        "token", "hf_token", "HF_TOKEN", "hub_token", "use_auth_token", "HUGGING_FACE_HUB_TOKEN",
        "HUGGINGFACEHUB_API_TOKEN", "push_to_hub_token", "wandb_api_key", "WANDB_API_KEY",
        "wandbKey", "COMET_API_KEY", "NEPTUNE_API_TOKEN", "MLFLOW_TRACKING_TOKEN",
        "MLFLOW_TRACKING_PASSWORD", "CLEARML_API_SECRET_KEY",
        // Providers
        "OPENAI_API_KEY", "openai.api_key", "x-api-key", "apiKey", "apikey", "API-KEY",
        "aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "secretAccessKey",
        "AWS_ACCESS_KEY", "account_key", "AccountKey", "sas_token", "AZURE_CLIENT_SECRET",
        "client_secret", "clientSecret", "private_key", "privateKey", "service_account_key",
        "GITHUB_TOKEN", "github_pat", "GITLAB_TOKEN", "auth_token", "authToken", "authtoken",
        "access_token", "accessToken", "refresh_token", "id_token", "bearer_token", "bearer",
        "slack_webhook_url", "webhook", "api_tokens", "auth_tokens", "HF_TOKEN_2", "token_value",
        // Databases and the rest
        "password", "PASSWORD", "db_password", "dbpassword", "passwd", "user_passwd",
        "ssh_passphrase", "db_pass", "redis_pwd", "credentials", "gcp_credential", "Authorization",
        "proxy-authorization", "connection_string", "encryption_key", "signing_key", "session_key",
        "cookie", "sentry_dsn", "secrets", "SECRET", "hmac_key", "--hub_token", "--api-key"}) {
    EXPECT_TRUE(IsSecretKey(key)) << key;
  }
}

TEST(IsSecretKey, LeavesOrdinaryKeysAlone) {
  for (const char* key :
       {// Counts
        "max_tokens", "num_tokens", "tokens_per_batch", "max_tokens_per_batch", "tokens",
        "train_tokens", "total_tokens", "max_new_tokens", "min_new_tokens", "tokens_per_second",
        "num_train_tokens", "target_tokens", "maxTokens", "max_token", "num_token",
        "tokens_per_step_per_device", "max_num_batched_tokens", "global_batch_size_in_tokens",
        // Vocabularies
        "tokenizer", "tokenizer_path", "tokenizer_name", "tokenizer_class", "tokenizer_type",
        "tokenize_train_data", "add_bos", "pad_token", "bos_token", "eos_token", "unk_token",
        "mask_token", "cls_token", "sep_token", "image_token", "additional_special_tokens",
        "special_tokens", "pad_token_id", "bos_token_id", "eos_token_id", "image_token_id",
        "image_token_index", "decoder_start_token_id", "forced_bos_token_id", "token_type_ids",
        "type_vocab_size", "add_prefix_space", "suppress_tokens", "begin_suppress_tokens",
        "token_embedding_size", "token_dropout", "skip_special_tokens", "boi_token", "fim_prefix",
        "prefix_token", "begin_token", "end_token", "timestamp_token", "register_token",
        // Attention and others with "key"
        "num_key_value_heads", "num_kv_heads", "key_dim", "query_key_norm", "qk_norm", "text_key",
        "sort_key", "dataset_key", "prng_key", "keys", "key", "monkey", "keyword", "key_proj",
        "aws_access_key_id", "AWS_ACCESS_KEY_ID", "private_key_id", "kms_key_id",
        "tied_weight_keys", "_tied_weights_keys", "remat_policy", "metric_key_prefix",
        // MaxText, torchtitan, DeepSpeed
        "base_output_directory", "run_name", "per_device_batch_size", "ici_fsdp_parallelism",
        "hf_access", "dataset_path", "hf_path", "model.flavor", "seq_len", "warmup_steps",
        "zero_optimization", "offload_param", "allgather_bucket_size", "train_batch_size",
        "gradient_accumulation_steps", "activation_checkpointing", "pass", "forward_pass",
        "num_passes", "bypass", "compass", "pattern", "path", "passthrough", "author", "authors",
        "auth_type", "PWD", "OLDPWD", "pwd", "trust_remote_code", "secretary_path", "token_file",
        "credentials_path", "password_file", "token_url", ""}) {
    EXPECT_FALSE(IsSecretKey(key)) << key;
  }
}

}  // namespace
}  // namespace headway
